/**
 * `npm run messages`: updates the language files from the code. New messages are added untranslated, unused ones removed;
 * then it prints those without a translation. `--new <tag>` starts a language.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import PO from 'pofile';
import { findMessages } from './find-messages.ts';
import { compare, folder, languageFiles, readLanguage, updated } from './language-files.ts';

const { values } = parseArgs({ options: { new: { type: 'string' } } });
const found = findMessages();
if (values.new !== undefined) begin(values.new);
for (const file of languageFiles()) {
  const po = updated(readLanguage(file), found);
  writeFileSync(join(folder, file), `${po.toString().trim()}\n`);
  const { missing, wrong } = compare(po, found);
  process.stdout.write(`${file}: ${found.size} messages, ${missing.length} without a translation\n`);
  for (const line of [
    ...missing.map((text) => `  missing: ${text}`),
    ...wrong.map((text) => `  wrong: ${text}`),
  ])
    process.stdout.write(`${line}\n`);
}

function begin(tag: string): void {
  const [canonical] = Intl.getCanonicalLocales(tag);
  const file = join(folder, `${canonical}.po`);
  if (existsSync(file)) throw new Error(`there is ${canonical}.po already`);
  const po = new PO();
  const forms = new Intl.PluralRules(canonical).resolvedOptions().pluralCategories.length;
  po.headers = {
    Language: canonical!,
    'Content-Type': 'text/plain; charset=UTF-8',
    'Content-Transfer-Encoding': '8bit',
    'Plural-Forms': `nplurals=${forms}; plural=${forms === 1 ? '0' : '(n != 1)'};`,
  };
  writeFileSync(file, po.toString());
}

/** Compares the language files, `apps/web/languages/*.po`, with the code. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import PO from 'pofile';
import { keyOf } from '../../apps/web/src/ui/kit/catalogue.ts';
import { isTranslated } from '@acp/kernel';
import { type Found, root } from './find-messages.ts';

export const folder = join(root, 'apps/web/languages');

export const languageFiles = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.po'))
    .toSorted();

export const readLanguage = (file: string): PO => PO.parse(readFileSync(join(folder, file), 'utf8'));

type Item = PO['items'][number];
const keyOfItem = ({ msgid, msgctxt }: Item): string => keyOf(msgid, msgctxt ?? '');

export interface Differences {
  /** Not in the file, or untranslated. */
  missing: string[];
  /** In the file, but nowhere in the code. */
  unused: string[];
  /** Translations that would be rendered wrongly, each with the reason. */
  wrong: string[];
}

export function compare(po: PO, found: ReadonlyMap<string, Found>): Differences {
  const items = new Map(po.items.map((item) => [keyOfItem(item), item]));
  const isSaid = (item: Item | undefined): item is Item => item !== undefined && isTranslated(item);
  const forms = formsOf(po);
  return {
    missing: [...found].filter(([key]) => !isSaid(items.get(key))).map(([key]) => readable(key)),
    unused: [...items.keys()].filter((key) => !found.has(key)).map(readable),
    wrong: [...items].flatMap(([key, item]) => {
      const source = found.get(key);
      return source && isSaid(item) ? faultsOf(item, source, forms) : [];
    }),
  };
}

const readable = (key: string): string => key.replace('\u{4}', ': ');

const formsOf = (po: PO): number =>
  Number(/nplurals\s*=\s*(\d)/.exec(po.headers['Plural-Forms'] ?? '')?.[1] ?? 2);

function faultsOf({ msgid, msgstr }: Item, source: Found, forms: number): string[] {
  const expected = source.plural === undefined ? 1 : forms;
  if (msgstr.length !== expected) return [`${msgid}: ${msgstr.length} forms in the place of ${expected}`];
  return msgstr.flatMap((form) => {
    // The singular may omit the figure, as in `one run`.
    const given = signsOf(form, source.plural !== undefined);
    const wanted = signsOf(msgid, source.plural !== undefined);
    if (given !== wanted)
      return [`${msgid}: has ${wanted || 'no places'}, its translation ${given || 'none'}: ${form}`];
    if (!isNested(form)) return [`${msgid}: its tags do not close what they open: ${form}`];
    return /<\/?[a-z]/i.test(form) && !/<\/?[a-z]/i.test(msgid) ? [`${msgid}: HTML in ${form}`] : [];
  });
}

/** Placeholders and tags, in any order. */
const signsOf = (text: string, counted: boolean): string =>
  (text.match(/\{\d+\}|<\/?\d+\/?>/g) ?? [])
    .filter((sign) => !counted || sign !== '#')
    .toSorted()
    .join(' ');

function isNested(text: string): boolean {
  const open: string[] = [];
  for (const [, close, number] of text.matchAll(/<(\/?)(\d+)>/g)) {
    if (close === '') open.push(number!);
    else if (open.pop() !== number) return false;
  }
  return open.length === 0;
}

/** Returns the file with exactly the messages of the code: new ones are untranslated. */
export function updated(po: PO, found: ReadonlyMap<string, Found>): PO {
  const items = new Map(po.items.map((item) => [keyOfItem(item), item]));
  po.items = [...found].map(([key, source]) => {
    const item = items.get(key) ?? new PO.Item();
    item.msgid = source.id;
    if (source.plural === undefined) delete item.msgid_plural;
    else item.msgid_plural = source.plural;
    if (source.context !== undefined) item.msgctxt = source.context;
    // No line numbers: they change with every edit.
    item.references = [...source.files];
    item.extractedComments = [...source.notes].slice(0, 2);
    return item;
  });
  return po;
}

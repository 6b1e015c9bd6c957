/** The files of languages, for whoever says something outside of a page. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import PO from 'pofile';
import type { Translate } from './said.ts';

/** A file for each language, in the PO format: `de.po`. */
export const languagesFolder = resolve(import.meta.dirname, '../../../apps/web/languages');

/** Neither waiting for a translation, nor for somebody to look at it again. */
export const isTranslated = ({ msgstr, flags, obsolete }: PO['items'][number]): boolean =>
  !obsolete && !flags.fuzzy && msgstr.length > 0 && msgstr.every((form) => form !== '');

export const messageKey = (text: string, context: string): string =>
  context === '' ? text : `${context}\u{4}${text}`;

const read = new Map<string, ReadonlyMap<string, string>>();

/** Undefined for English, and for what there is no file of. The file is read once, when somebody first wants it. */
export function translatorInto(language: string | null): Translate | undefined {
  // It is a person's choice, and becomes a file's name.
  if (language === null || language === 'en' || !/^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$/.test(language))
    return undefined;
  const texts = read.get(language) ?? readTexts(language);
  return texts.size === 0 ? undefined : (text, context) => texts.get(messageKey(text, context));
}

function readTexts(language: string): ReadonlyMap<string, string> {
  let file: string;
  try {
    file = readFileSync(join(languagesFolder, `${language}.po`), 'utf8');
  } catch {
    return new Map();
  }
  const items = PO.parse(file).items.filter(isTranslated);
  const texts = new Map(
    items.map(({ msgid, msgctxt, msgstr }) => [messageKey(msgid, msgctxt ?? ''), msgstr[0]!]),
  );
  read.set(language, texts);
  return texts;
}

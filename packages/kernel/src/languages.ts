/** The files of languages: the only place that finds and parses them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import PO from 'pofile';
import { repositoryRoot } from './repository-root.ts';
import type { Translate } from './said.ts';

/** A file for each language, in the PO format: `de.po`. */
const folder = join(repositoryRoot, 'apps/web/languages');

export interface LanguageTexts {
  /** By `messageKey`; several forms for plurals. Untranslated texts are left out. */
  texts: ReadonlyMap<string, readonly string[]>;
  /** Texts of the pages' scripts, by their English version. */
  scripts: Readonly<Record<string, readonly string[]>>;
}

/** Neither waiting for a translation, nor for somebody to look at it again. */
export const isTranslated = ({ msgstr, flags, obsolete }: PO['items'][number]): boolean =>
  !obsolete && !flags.fuzzy && msgstr.length > 0 && msgstr.every((form) => form !== '');

export const messageKey = (text: string, context: string): string =>
  context === '' ? text : `${context}\u{4}${text}`;

let filed: readonly string[] | undefined;

/** Tags of the languages that have a file: all but English. Looked for once: a new file counts from the next start. */
export function languagesWithFile(): readonly string[] {
  filed ??= readdirSync(folder)
    .filter((name) => name.endsWith('.po'))
    .map((name) => name.slice(0, -'.po'.length))
    .toSorted();
  return filed;
}

/** @param language one of `languagesWithFile` */
export const readLanguageFile = (language: string): string =>
  readFileSync(join(folder, `${language}.po`), 'utf8');

/** At most one entry for each file, however many languages are asked for. */
const parsed = new Map<string, LanguageTexts>();

/** Undefined for English, and for what there is no file of. A file is parsed once, when its language is first wanted. */
export function textsIn(language: string): LanguageTexts | undefined {
  if (!languagesWithFile().includes(language)) return undefined;
  let texts = parsed.get(language);
  if (texts === undefined) {
    texts = parseLanguage(readLanguageFile(language));
    parsed.set(language, texts);
  }
  return texts;
}

export function parseLanguage(file: string): LanguageTexts {
  const items = PO.parse(file).items.filter(isTranslated);
  const ofScripts = items.filter(({ references }) =>
    references.some((path) => path.startsWith('apps/web/assets/')),
  );
  return {
    texts: new Map(items.map(({ msgid, msgctxt, msgstr }) => [messageKey(msgid, msgctxt ?? ''), msgstr])),
    scripts: Object.fromEntries(ofScripts.map(({ msgid, msgstr }) => [msgid, msgstr])),
  };
}

/** For what is said outside of pages. Undefined for English, and for what there is no file of. */
export function translatorInto(language: string | null): Translate | undefined {
  const texts = language === null ? undefined : textsIn(language)?.texts;
  return texts && ((text, context) => texts.get(messageKey(text, context))?.[0]);
}

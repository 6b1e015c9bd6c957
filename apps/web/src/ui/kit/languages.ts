/** The available languages: English, plus one file each in `apps/web/languages`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { UserActor } from '@acp/contract';
import { isTranslated, languagesFolder as folder, messageKey as keyOf } from '@acp/kernel';
import type { Request, RequestHandler, Response } from 'express';
import PO from 'pofile';
import { Catalogue } from './catalogue.ts';
import { currentLanguage, inLanguage } from './language.ts';

/** Language tags: `en`, `de`, `pt-BR`. */
export const languages: string[] = [
  'en',
  ...readdirSync(folder)
    .filter((name) => name.endsWith('.po'))
    .map((name) => name.slice(0, -'.po'.length))
    .toSorted(),
];

export const fileOf = (language: string): string => join(folder, `${language}.po`);

interface Language {
  catalogue: Catalogue;
  /** Texts of the pages' scripts, by their English version. */
  scripts: Readonly<Record<string, readonly string[]>>;
}

const read = new Map<string, Language>();

/** Null for English, and for languages without a file. */
export function catalogueOf(language: string): Catalogue | null {
  return language !== 'en' && languages.includes(language) ? languageNamed(language).catalogue : null;
}

export const scriptTexts = (language: string): Language['scripts'] => languageNamed(language).scripts;

/** Each file is read once, on first use. */
function languageNamed(name: string): Language {
  let language = read.get(name);
  if (!language) {
    language = parseLanguage(name, readFileSync(fileOf(name), 'utf8'));
    read.set(name, language);
  }
  return language;
}

/** Adds a language without a file, for the lifetime of the process: tests use one that marks translated texts. */
export function offer(catalogue: Catalogue): void {
  read.set(catalogue.language, { catalogue, scripts: {} });
  if (!languages.includes(catalogue.language)) languages.push(catalogue.language);
}

/** Untranslated texts are left out. */
export function parseLanguage(name: string, file: string): Language {
  const items = PO.parse(file).items.filter(isTranslated);
  const texts = items.map(({ msgid, msgctxt, msgstr }): [string, string[]] => [
    keyOf(msgid, msgctxt ?? ''),
    msgstr,
  ]);
  const ofScripts = items.filter(({ references }) =>
    references.some((path) => path.startsWith('apps/web/assets/')),
  );
  return {
    catalogue: new Catalogue(name, new Map(texts)),
    scripts: Object.fromEntries(ofScripts.map(({ msgid, msgstr }) => [msgid, msgstr])),
  };
}

/** The user's choice, else what the browser asks for, else English. */
export function languageOf(request: Request, user?: Pick<UserActor, 'preferences'>): string {
  const chosen = user?.preferences?.language;
  if (chosen !== undefined && languages.includes(chosen)) return chosen;
  return request.acceptsLanguages([...languages]) || 'en';
}

/** Uses the browser's language until the user is known. */
export const useBrowserLanguage: RequestHandler = (request, response, next) =>
  speak(request, response, undefined, next);

/** Runs the work in the user's language, and declares that as the response's language. */
export function speak<T>(
  request: Request,
  response: Response,
  user: Pick<UserActor, 'preferences'> | undefined,
  work: () => T,
): T {
  return inLanguage(catalogueOf(languageOf(request, user)), () => {
    response.set('Content-Language', currentLanguage());
    response.vary('Accept-Language');
    return work();
  });
}

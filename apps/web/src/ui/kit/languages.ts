/** The available languages: English, plus one file each in `apps/web/languages`. */
import type { UserActor } from '@acp/contract';
import { type LanguageTexts, languagesWithFile, textsIn } from '@acp/kernel';
import type { Request, RequestHandler, Response } from 'express';
import { readCookie, SECTIONS_COOKIE } from '../../http/cookies.ts';
import { Catalogue } from './catalogue.ts';
import { currentLanguage, inLanguage } from './language.ts';

/** Language tags: `en`, `de`, `pt-BR`. */
export const languages: string[] = ['en', ...languagesWithFile()];

/** Each is built once: it keeps the templates that it has translated. */
const catalogues = new Map<string, Catalogue>();

/** Null for English, and for languages without a file. */
export function catalogueOf(language: string): Catalogue | null {
  const made = catalogues.get(language);
  if (made) return made;
  const texts = textsIn(language)?.texts;
  if (!texts) return null;
  const catalogue = new Catalogue(language, texts);
  catalogues.set(language, catalogue);
  return catalogue;
}

export const scriptTexts = (language: string): LanguageTexts['scripts'] => textsIn(language)?.scripts ?? {};

/** Adds a language without a file, for the lifetime of the process: tests use one that marks translated texts. */
export function offer(catalogue: Catalogue): void {
  catalogues.set(catalogue.language, catalogue);
  if (!languages.includes(catalogue.language)) languages.push(catalogue.language);
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

/** Runs the work in the user's language and time zone, and declares the language as the response's. */
export function speak<T>(
  request: Request,
  response: Response,
  user: Pick<UserActor, 'preferences'> | undefined,
  work: () => T,
): T {
  const declared = (): T => {
    response.set('Content-Language', currentLanguage());
    response.vary('Accept-Language');
    return work();
  };
  const unfolded = readCookie(request, SECTIONS_COOKIE)?.split('.') ?? [];
  const habits = { zone: user?.preferences?.time_zone, unfolded };
  return inLanguage(catalogueOf(languageOf(request, user)), declared, habits);
}

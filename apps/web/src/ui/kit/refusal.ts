/** What a page shows when something went wrong. */
import type { UserActor } from '@acp/contract';
import type { Database } from '@acp/db';
import { type Logger, stated } from '@acp/kernel';
import type { Request, Response } from 'express';
import { publicError, type Refusal, refusalOf } from '../../http/errors.ts';
import { errorPage, isTyped, resendForm, type Unsent } from './error-page.ts';
import { errorPlace } from './error-place.ts';
import { withLabel } from './field-errors.ts';
import { type ReadForm, readForms } from './form-fields.ts';
import { giveBack } from './give-back.ts';
import { html, type Html } from './html.ts';
import { heedRefusal, t } from './language.ts';
import { formError } from './parts.ts';
import { readUnsent } from './refused-request.ts';
import type { ActionRow, UiContext } from './ui-routes.ts';

/** Null if the action has no such page, or rendering it fails too: then an error page keeps what was typed. */
export async function failedPage(
  route: ActionRow,
  context: UiContext,
  message: string,
  unsent: Unsent,
): Promise<Html | null> {
  const { typed, secrets } = unsent;
  const { path } = context.request;
  try {
    const rendered = await route.failed?.(context, message, typed);
    if (rendered === undefined) return null;
    const forms = (await readForms(rendered)).filter(({ action }) => action.split('?')[0] === path);
    const { page, error } = inPlainWords(rendered, message, forms);
    // What somebody else did meanwhile may have taken the form off the page.
    return forms.length === 0 ? withUnsent(page, error, unsent) : await giveBack(page, path, typed, secrets);
  } catch {
    return null;
  }
}

const DONE = stated('It was done, but the page that follows could not be shown.');

/** In the place of the page that an action leads to: nothing invites to send it again. */
export const donePage = (user: UserActor): Html => errorPage(user, { status: 500, message: DONE }, null);

/** Only the error, and what was typed. */
export async function lonePage(
  { tx, user, request, company_id }: UiContext,
  problem: Refusal,
  unsent: Unsent,
): Promise<Html> {
  return errorPage(user, problem, await errorPlace(tx, user, request, company_id), unsent);
}

/** The page with the error in the words of its form, if it only shows the endpoint's. */
function inPlainWords(page: Html, message: string, forms: readonly ReadForm[]): { page: Html; error: Html } {
  const labels = new Map(
    forms.flatMap(({ fields }) => [...fields.values()].map(({ name, label }) => [name, label || name])),
  );
  const [shown, error] = [formError(message), formError(withLabel(message, labels))];
  return { page: shown === error ? page : page.replace(shown, () => error), error };
}

/** Of what was typed, as much is looked for on a page; no form has more fields. */
const MOST_FIELDS = 100;

/** The page with the error, and after it what was typed; without what the page shows anyway. */
function withUnsent(page: Html, error: Html, unsent: Unsent): Html {
  const { typed, secrets } = unsent;
  const isLost = (name: string): boolean => {
    const text = typed.text(name);
    return !secrets.includes(name) && isTyped(text) && !page.includes(html`${text}`);
  };
  const added = typed.names.length > MOST_FIELDS || typed.names.some(isLost) ? resendForm(unsent) : '';
  const at = page.indexOf(error);
  const top = page.indexOf('>', page.indexOf('<main')) + 1;
  if (at === -1) return page.slice(0, top) + error + added + page.slice(top);
  const after = at + error.length;
  const isWithinForm = page.lastIndexOf('<form', after) > page.lastIndexOf('</form>', after);
  const place = isWithinForm ? top : after;
  return page.slice(0, place) + added + page.slice(place);
}

/** The error as it may be shown to the user; a defect is logged and reveals nothing. */
export function userFacingError(error: unknown, { method, path }: Request, logger: Logger): Refusal {
  const known = publicError(error);
  if (known) {
    heedRefusal(known);
    return refusalOf(known);
  }
  logger.error('a page failed', { method, path, error });
  return { status: 500, message: t`internal error` };
}

export async function answerError(
  error: unknown,
  user: UserActor,
  { request, response }: { request: Request; response: Response },
  { logger, database: { db } }: { logger: Logger; database: Database },
  /** Of the form that was refused. */
  secrets: readonly string[],
): Promise<void> {
  const refusal = userFacingError(error, request, logger);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const place = await errorPlace(db, user, request);
  response
    .status(refusal.status)
    .type('html')
    .send(errorPage(user, refusal, place, await readUnsent(request, response, secrets)));
}

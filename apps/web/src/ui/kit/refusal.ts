/** What a page shows when something went wrong. */
import type { UserActor } from '@acp/contract';
import type { Database } from '@acp/db';
import { httpStatusOf, type Logger } from '@acp/kernel';
import type { Request, Response } from 'express';
import { publicError } from '../../http/errors.ts';
import { errorPage, type Unsent } from './error-page.ts';
import { errorPlace } from './error-place.ts';
import { withLabel } from './field-errors.ts';
import { type ReadForm, readForms } from './form-fields.ts';
import { giveBack } from './give-back.ts';
import type { Html } from './html.ts';
import { t } from './language.ts';
import { formError } from './parts.ts';
import type { ActionRow, UiContext } from './ui-routes.ts';

/** Null if the action has no such page, or rendering it fails too: then an error page keeps what was typed. */
export async function failedPage(
  route: ActionRow,
  context: UiContext,
  message: string,
  { path, typed, secrets }: Unsent,
): Promise<Html | null> {
  try {
    const page = await route.failed?.(context, message, typed);
    if (page === undefined) return null;
    const forms = (await readForms(page)).filter(({ action }) => action.split('?')[0] === path);
    return await giveBack(inPlainWords(page, message, forms), path, typed, secrets);
  } catch {
    return null;
  }
}

/** Only the error, and what was typed. */
export async function lonePage(
  { tx, user, request, company_id }: UiContext,
  problem: { status: number; message: string },
  unsent: Unsent,
): Promise<Html> {
  return errorPage(user, problem, await errorPlace(tx, user, request, company_id), unsent);
}

/** The page with the error in the words of its form, if it only shows the endpoint's. */
function inPlainWords(page: Html, message: string, forms: readonly ReadForm[]): Html {
  const labels = new Map(
    forms.flatMap(({ fields }) => [...fields.values()].map(({ name, label }) => [name, label || name])),
  );
  const said = withLabel(message, labels);
  return said === message ? page : page.replace(formError(message), () => formError(said));
}

/** The error as it may be shown to the user; a defect is logged and reveals nothing. */
export function userFacingError(
  error: unknown,
  { method, path }: Request,
  logger: Logger,
): { status: number; message: string } {
  const known = publicError(error);
  if (known) return { status: httpStatusOf(known.kind), message: known.message };
  logger.error('a page failed', { method, path, error });
  return { status: 500, message: t`internal error` };
}

export async function answerError(
  error: unknown,
  user: UserActor,
  { request, response }: { request: Request; response: Response },
  { logger, database: { db } }: { logger: Logger; database: Database },
): Promise<void> {
  const { status, message } = userFacingError(error, request, logger);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const place = await errorPlace(db, user, request);
  response
    .status(status)
    .type('html')
    .send(errorPage(user, { status, message }, place));
}

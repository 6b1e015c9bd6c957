/** A form, from its first byte to the page that it leads to. */
import type { Validator } from '@acp/contract';
import { type Database, transaction } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { errorPage } from './error-page.ts';
import type { MarkdownRenderer } from './markdown-renderer.ts';
import { failedPage, told } from './refusal.ts';
import { SentForm } from './sent-form.ts';
import type { ActionRow, UiContext } from './ui-routes.ts';

export interface PageDependencies {
  database: Database;
  logger: Logger;
  /** Renders the texts of all pages. */
  texts: MarkdownRenderer;
}

export async function performAction(
  route: ActionRow,
  context: UiContext,
  validate: Validator<unknown> | undefined,
  { database, logger, texts }: PageDependencies,
): Promise<void> {
  const { response } = context;
  const sent = new SentForm(route.endpoint, context);
  try {
    await sent.read();
    const values = withoutUndefined(route.read(sent.values));
    const body = validate ? validate(values) : undefined;
    const act = { ...context, body, files: sent.files };
    const result =
      route.endpoint.tx === 'write'
        ? await transaction(database, async (tx) => route.run({ ...act, tx } as never))
        : await route.run(act as never);
    const next = await route.next(context, result);
    if (next.startsWith('/')) goTo(next, context);
    else response.type('html').send(await texts.finish(next));
  } catch (error) {
    await sent.discard();
    const { status, message } = told(error, context.request, logger);
    const unsent = { path: context.request.path, typed: sent.values, secrets: route.secrets };
    const page = await failedPage(route, context, message, unsent);
    response
      .status(status)
      .type('html')
      .send(await texts.finish(page ?? errorPage(context.user, status, message, unsent)));
  }
}

/** htmx follows a redirect by itself only within its swap: a header tells it to go there as a browser would. */
function goTo(path: string, { fragment, response }: UiContext): void {
  if (fragment) response.setHeader('HX-Redirect', path).status(204).end();
  else response.redirect(303, path);
}

function withoutUndefined(values: unknown): unknown {
  if (typeof values !== 'object' || values === null) return values;
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

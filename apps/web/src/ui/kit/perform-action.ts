/** A form, from its first byte to the page it leads to. The endpoint's own handler does the work. */
import type { Database } from '@acp/db';
import { type Logger, notFound } from '@acp/kernel';
import { Call } from '../../http/call.ts';
import { known, readQuery } from '../../http/input.ts';
import type { MountedRow } from '../../http/mounted-row.ts';
import { perform } from '../../http/perform.ts';
import { requireRole } from '../../http/roles.ts';
import { loadScope } from '../../http/scope.ts';
import { resolveNames } from './choice-names.ts';
import type { Endpoints } from './endpoints.ts';
import { applied, ChangedMeanwhile, overtakenPage } from './changed-meanwhile.ts';
import type { MarkdownRenderer } from './markdown-renderer.ts';
import { donePage, failedPage, lonePage, userFacingError } from './refusal.ts';
import { SentForm } from './sent-form.ts';
import type { ActionRow, UiContext } from './ui-routes.ts';

export interface PageDependencies {
  database: Database;
  logger: Logger;
  /** Renders the texts of all pages. */
  texts: MarkdownRenderer;
  /** The API's endpoints, which carry out the actions. */
  endpoints: Endpoints;
}

/** @param confirm resolves with the context of the caller now: at the end of the form, and after waiting for the changes of others */
export async function performAction(
  route: ActionRow,
  shown: UiContext,
  confirm: (waited: boolean) => Promise<UiContext>,
  deps: PageDependencies,
): Promise<void> {
  const mounted = deps.endpoints.of(route);
  const { request, response, user } = shown;
  const sent = new SentForm(mounted.row, shown);
  let context = shown;
  let isDone = false;
  try {
    await sent.read();
    context = await confirm(false);
    const call = await callOf(route, mounted, context, sent, deps.database);
    const { text } = await perform(deps.database, call, async () => {
      context = await confirm(true);
      await enter(call, route, context, deps.database);
    });
    isDone = true;
    const next = await route.next(context, text === undefined ? undefined : JSON.parse(text), sent.values);
    if (next.startsWith('/')) redirectTo(next, context);
    else response.type('html').send(await deps.texts.finish(next, context));
  } catch (error) {
    if (isDone) {
      deps.logger.error('the page after an action failed', { path: request.path, error });
      response.status(500).type('html').send(donePage(user));
      return;
    }
    await sent.discard();
    const { status, message } = userFacingError(error, request, deps.logger);
    const { originalUrl: path } = request;
    const unsent = { path, typed: sent.values, secrets: deps.endpoints.secretsOf(route) };
    const page =
      error instanceof ChangedMeanwhile
        ? await overtakenPage(route, context, error, unsent)
        : await failedPage(route, context, message, unsent);
    response
      .status(status)
      .type('html')
      .send(await deps.texts.finish(page ?? (await lonePage(context, { status, message }, unsent))));
  } finally {
    sent.release();
  }
}

/** The request that the endpoint would have received as JSON. */
async function callOf(
  route: ActionRow,
  mounted: MountedRow,
  context: UiContext,
  sent: SentForm,
  database: Database,
): Promise<Call> {
  const { company_id, request, response, services } = context;
  const form = await resolveNames(context, await applied(route, context, sent.values));
  const call = new Call(mounted, { database, services }, request, response);
  call.params = { companyId: company_id, ...context.params, ...route.params(context, form) };
  await enter(call, route, context, database);
  call.body = readBody(mounted, await route.read?.(form, context));
  if (route.query) call.query = readQuery(mounted, route.query(form));
  call.files = sent.files;
  await route.check?.(context, form);
  return call;
}

/** The caller, company and subject of a call, from the page's context. */
async function enter(
  call: Call,
  route: ActionRow,
  { user, company_id, subject }: UiContext,
  database: Database,
): Promise<void> {
  call.actor = user;
  call.company_id = company_id;
  call.subject = subject;
  if (route.scope !== call.mounted.row.scope) await enterScope(call, database);
}

/** Resolves the scope of an endpoint whose subject is not its page's. */
async function enterScope(call: Call, { db }: Database): Promise<void> {
  const { row, scopeParam } = call.mounted;
  const scoped = await loadScope(db, call.actor, row, scopeParam ? (call.params[scopeParam] ?? '') : '');
  // An endpoint outside of companies checks the company named in its body itself.
  const elsewhere = row.scope.by !== 'none' && call.company_id !== scoped.company_id;
  if (call.company_id !== '' && elsewhere) throw notFound();
  requireRole(row, call.actor, scoped.company_id);
  call.company_id = scoped.company_id;
  call.subject = scoped.subject;
}

function readBody({ row, body: validate, bodyFields }: MountedRow, read: unknown): unknown {
  if (validate === undefined) return undefined;
  if (read === undefined && row.body_optional) return undefined;
  const values = Object.entries(read ?? {}).filter(([, value]) => value !== undefined);
  return known(validate(Object.fromEntries(values)), bodyFields);
}

/** htmx follows a redirect only within its swap: a header makes it navigate like a browser. */
function redirectTo(path: string, { fragment, response }: UiContext): void {
  if (fragment) response.setHeader('HX-Redirect', path).status(204).end();
  else response.redirect(303, path);
}

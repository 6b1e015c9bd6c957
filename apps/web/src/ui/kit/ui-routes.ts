/**
 * Pages and form actions as rows. A page reads. An action is an API endpoint with a form in front of it: it defines which
 * endpoint, how the form is read, and where to go next, so that no rule exists twice.
 */
import type { EndpointRow, LeastRole, ResponseOf, Scope, UserActor } from '@acp/contract';
import type { Tx } from '@acp/db';
import type { Request, Response } from 'express';
import type { Context, Route } from '../../http/handle.ts';
import type { SubjectOf } from '../../http/scope.ts';
import type { Services } from '../../http/services.ts';
import type { FormValues } from './form-values.ts';
import type { Html } from './html.ts';

export interface UiContext<By extends Scope['by'] = Scope['by']> {
  /** The plain database, not a transaction: pages only read, and the endpoint's handler does the writing. */
  readonly tx: Tx;
  readonly user: UserActor;
  /** Empty outside of a company. */
  readonly company_id: string;
  readonly subject: SubjectOf<By>;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly services: Services;
  readonly request: Request;
  readonly response: Response;
  /** Requested by htmx: a fragment is enough. */
  readonly fragment: boolean;
  /** Number of the newest event at the time of the request: the page's live stream begins after it. 0 outside of a company. */
  readonly cursor: number;
}

interface PageRow {
  readonly kind: 'page';
  readonly path: string;
  readonly scope: Scope;
  readonly role: LeastRole;
  readonly render: (context: UiContext) => Promise<Html> | Html;
}

/** A form in front of an endpoint. */
export interface ActionRow {
  readonly kind: 'action';
  readonly path: string;
  readonly endpoint: EndpointRow;
  /** Subject of the page: the endpoint's own scope unless the page has another. */
  readonly scope: Scope;
  readonly params: (context: UiContext, form: FormValues) => Readonly<Record<string, string>>;
  readonly read: ((form: FormValues, context: UiContext) => unknown) | undefined;
  readonly query: ((form: FormValues) => Readonly<Record<string, string>>) | undefined;
  readonly check: ((context: UiContext, form: FormValues) => Promise<void> | void) | undefined;
  readonly handler: Route['handler'] | undefined;
  readonly edits: ((context: UiContext) => Promise<Html> | Html) | undefined;
  readonly next: (context: UiContext, result: unknown, form: FormValues) => string | Promise<string>;
  readonly failed:
    | ((context: UiContext, error: string, form: FormValues) => Promise<Html> | Html)
    | undefined;
  readonly secrets: readonly string[];
}

export type UiRoute = PageRow | ActionRow;

/** A page, or a fragment of one. */
export function page<const S extends Scope>(
  path: string,
  access: { scope: S; role: LeastRole },
  render: (context: UiContext<S['by']>) => Promise<Html> | Html,
): PageRow {
  return { kind: 'page', path, ...access, render };
}

interface ActionOptions<R extends EndpointRow, S extends Scope> {
  /** Subject of the page, if it is not the endpoint's. */
  scope?: S;
  /** Parameters in the endpoint's path that the page's path lacks; the company is known. */
  params?: (context: UiContext<S['by']>, form: FormValues) => Readonly<Record<string, string>>;
  /** Maps form values to the endpoint's body, or a promise of it: '' means "not given" unless it says otherwise. */
  read?: (form: FormValues, context: UiContext<S['by']>) => unknown;
  /** The endpoint's query, for one that takes what the form says there. */
  query?: (form: FormValues) => Readonly<Record<string, string>>;
  /** Checks a precondition before the endpoint is called. Throws what the user is shown. */
  check?: (context: UiContext<S['by']>, form: FormValues) => Promise<void> | void;
  /** Replaces the API's handler, for what only a page can do. */
  handler?: (context: Context<R>) => Promise<ResponseOf<R>> | ResponseOf<R>;
  /** The page with the form, as it would be shown now: for a form that edits something (as-shown.ts). */
  edits?: (context: UiContext<S['by']>) => Promise<Html> | Html;
  /** Where the browser goes next (303), or the page to respond with. */
  next: (context: UiContext<S['by']>, result: ResponseOf<R>, form: FormValues) => string | Promise<string>;
  /** The page again with the error, refilled with what was typed; if absent, an error page is shown. */
  failed?: (context: UiContext<S['by']>, error: string, form: FormValues) => Promise<Html> | Html;
  /** Fields that are never refilled, in addition to the endpoint's write-only ones. */
  secrets?: readonly string[];
}

/** A form's POST, handled by the endpoint's own handler: role, scope, validation, transaction and answer are the API's. */
export function action<const R extends EndpointRow, const S extends Scope = R['scope']>(
  path: string,
  endpoint: R,
  options: ActionOptions<R, S>,
): ActionRow {
  const { scope = endpoint.scope, params = () => ({}), secrets = [], read, query, check, handler } = options;
  const { edits, failed, next } = options;
  // As with the API's routes: the functions are served with the same row that types them.
  return {
    kind: 'action',
    path,
    endpoint,
    scope,
    params,
    read,
    query,
    check,
    handler,
    edits,
    next,
    failed,
    secrets,
  } as ActionRow;
}

/**
 * Pages and form actions as rows. A page reads. An action is an endpoint of the API with a form in front of it: it says
 * which endpoint, how the form is read, and where to go next, so that no rule exists twice.
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
  /** The plain database: pages read, and what acts is the endpoint's handler. */
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
  /** Asked for by htmx: a fragment is enough. */
  readonly fragment: boolean;
  /** Number of the newest event when the request came: the page's live stream begins after it. 0 outside of a company. */
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
  /** What the page is about: the endpoint's own scope unless the page says another. */
  readonly scope: Scope;
  readonly params: (context: UiContext, form: FormValues) => Readonly<Record<string, string>>;
  readonly read: ((form: FormValues, context: UiContext) => unknown) | undefined;
  readonly check: ((context: UiContext, form: FormValues) => Promise<void> | void) | undefined;
  readonly handler: Route['handler'] | undefined;
  readonly next: (context: UiContext, result: unknown, form: FormValues) => string | Promise<string>;
  readonly failed:
    ((context: UiContext, error: string, form: FormValues) => Promise<Html> | Html) | undefined;
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
  /** What the page is about, where that is not what the endpoint is about. */
  scope?: S;
  /** Parameters of the endpoint's path that the page's path lacks; its company is known. */
  params?: (context: UiContext<S['by']>, form: FormValues) => Readonly<Record<string, string>>;
  /** From form values to the endpoint's body, or a promise of it: '' means "not given" unless it says otherwise. */
  read?: (form: FormValues, context: UiContext<S['by']>) => unknown;
  /** What must hold before the endpoint is asked. Throws what the user is told. */
  check?: (context: UiContext<S['by']>, form: FormValues) => Promise<void> | void;
  /** In the place of the API's handler, where only a page does it. */
  handler?: (context: Context<R>) => Promise<ResponseOf<R>> | ResponseOf<R>;
  /** Where the browser goes next (303), or the page that is the answer. */
  next: (context: UiContext<S['by']>, result: ResponseOf<R>, form: FormValues) => string | Promise<string>;
  /** The page again with the error, where what was typed is put in; without it an error page is shown. */
  failed?: (context: UiContext<S['by']>, error: string, form: FormValues) => Promise<Html> | Html;
  /** Fields that are never given back, beside those that the endpoint calls write-only. */
  secrets?: readonly string[];
}

/** A form's POST, done by the endpoint's own handler: role, scope, validation, transaction and answer are the API's. */
export function action<const R extends EndpointRow, const S extends Scope = R['scope']>(
  path: string,
  endpoint: R,
  options: ActionOptions<R, S>,
): ActionRow {
  const { scope = endpoint.scope, params = () => ({}), secrets = [], read, check, handler, failed } = options;
  const { next } = options;
  // As with the API's routes: the row that types the functions is the row that the mount serves them with.
  return {
    kind: 'action',
    path,
    endpoint,
    scope,
    params,
    read,
    check,
    handler,
    next,
    failed,
    secrets,
  } as ActionRow;
}

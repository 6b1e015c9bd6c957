/**
 * Pages and form actions as rows, served by the same mechanisms as the API: session, scope (a foreign id is 404), role,
 * validation by the endpoint's own schema, transaction. A page reads; an action is an endpoint of the API with a form
 * in front of it, so that no rule exists twice.
 */
import type { BodyOf, EndpointRow, LeastRole, Scope, UserActor } from '@acp/contract';
import type { Tx } from '@acp/db';
import type { Request, Response } from 'express';
import type { FilesOf } from '../../http/handle.ts';
import type { SubjectOf } from '../../http/scope.ts';
import type { Services } from '../../http/services.ts';
import type { FormValues } from './form-values.ts';
import type { Html } from './html.ts';

export interface UiContext<By extends Scope['by'] = Scope['by']> {
  /** The plain database in a page, the transaction in an action. */
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

export interface ActionContext<R extends EndpointRow> extends UiContext<R['scope']['by']> {
  /** What the endpoint would have got as JSON. */
  readonly body: BodyOf<R>;
  /** Of a form that is sent as multipart, to a row that takes files. */
  readonly files: FilesOf<R>;
}

export interface PageRow {
  readonly kind: 'page';
  readonly path: string;
  readonly scope: Scope;
  readonly role: LeastRole;
  readonly render: (context: UiContext) => Promise<Html> | Html;
}

export interface ActionRow {
  readonly kind: 'action';
  readonly path: string;
  readonly endpoint: EndpointRow;
  readonly read: (form: FormValues) => unknown;
  readonly run: (context: ActionContext<EndpointRow>) => unknown;
  /** Where the browser goes next (303), or the fragment that replaces the form for htmx. */
  readonly next: (context: UiContext, result: unknown) => string | Promise<string>;
  readonly failed?: (context: UiContext, error: string, form: FormValues) => Promise<Html> | Html;
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

/**
 * A form's POST. The endpoint gives role, scope, permission and the schema that the values must meet.
 * @param options.read from form values to the endpoint's body: '' means "not given" unless it says otherwise
 * @param options.failed the page again with the error beside its form, where what was typed is put in; without it an
 *   error page is shown
 * @param options.secrets names of fields that are never given back
 */
export function action<const R extends EndpointRow, Result>(
  path: string,
  endpoint: R,
  options: {
    read?: (form: FormValues) => unknown;
    run: (context: ActionContext<R>) => Promise<Result> | Result;
    next: (context: UiContext<R['scope']['by']>, result: Result) => string | Promise<string>;
    failed?: (context: UiContext<R['scope']['by']>, error: string, form: FormValues) => Promise<Html> | Html;
    secrets?: readonly string[];
  },
): ActionRow {
  const { read = () => ({}), secrets = [], ...rest } = options;
  // As with the API's routes: the row that types the functions is the row that the mount serves them with.
  return { kind: 'action', path, endpoint, read, secrets, ...rest } as ActionRow;
}

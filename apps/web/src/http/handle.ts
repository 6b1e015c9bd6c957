/** Joins an endpoint row to its handler, typed by the row; `mount` does the rest (docs/adding-an-endpoint.md). */
import type { Actor, BodyOf, EndpointRow, QueryOf, ResponseOf } from '@acp/contract';
import type { FailedFile, StoredFile } from '@acp/core';
import type { Tx } from '@acp/db';
import type { Request, Response } from 'express';
import type { AtCommit } from './at-commit.ts';
import type { SubjectOf } from './scope.ts';
import type { Services } from './services.ts';
import type { MemoryFile } from './upload.ts';

type FileOf<F> = F extends { into: 'memory' }
  ? MemoryFile
  : F extends { tolerant: true }
    ? StoredFile | FailedFile
    : StoredFile;

/** The files of a multipart row; undefined if the body was sent as JSON. */
type FilesOf<R extends EndpointRow> = R extends { body_kind: 'multipart'; files: infer F }
  ? readonly FileOf<F>[]
  : R extends { body_kind: 'json_or_multipart'; files: infer F }
    ? readonly FileOf<F>[] | undefined
    : undefined;

export interface Context<R extends EndpointRow> {
  /** The transaction of a `write` row; the plain database of a `none` row. */
  readonly tx: Tx;
  readonly actor: Actor;
  /** The company of the scope; an empty string if the row has none. */
  readonly company_id: string;
  /** The row that the scope loaded: agent, issue, run …; the agent itself for `self`. */
  readonly subject: SubjectOf<R['scope']['by']>;
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
  readonly files: FilesOf<R>;
  readonly services: Services;
  readonly request: Request;
  readonly response: Response;
  /** Announces a further page: `X-Next-Cursor` and `Link`. */
  nextPage(cursor: string | null): void;
  /** Answers with a success status other than the row's; it must be listed in `also`. */
  status(code: number): void;
}

type Handler<R extends EndpointRow, P> = (
  context: Context<R>,
  prepared: P,
) => Promise<ResponseOf<R> | AtCommit<ResponseOf<R>>> | ResponseOf<R>;

export interface Route {
  readonly row: EndpointRow;
  readonly handler: (context: Context<EndpointRow>, prepared: unknown) => unknown;
  readonly prepare?: ((context: Context<EndpointRow>) => unknown) | undefined;
}

/**
 * @param prepare work too slow for the row's transaction (hashing a password): runs before it, on a valid body, and its
 * result is passed to the handler. A result that holds something (stored bytes) has a `release`, which is called after the
 * transaction, however that ended, even if an `Idempotency-Key` made the handler unnecessary.
 */
export function handle<const R extends EndpointRow>(row: R, handler: Handler<R, undefined>): Route;
export function handle<const R extends EndpointRow, P>(
  row: R,
  handler: Handler<R, P>,
  prepare: (context: Context<R>) => Promise<P>,
): Route;
export function handle<const R extends EndpointRow, P>(
  row: R,
  handler: Handler<R, P>,
  prepare?: (context: Context<R>) => Promise<P>,
): Route {
  // `mount` validates against the very row that types the handler: only the types are erased here.
  return { row, handler, prepare } as Route;
}

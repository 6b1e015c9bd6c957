/** Joins an endpoint row to its handler, typed by the row. `mount` does the rest (docs/adding-an-endpoint.md). */
import type { Actor, BodyOf, EndpointRow, QueryOf, ResponseOf } from '@acp/contract';
import type { FailedFile, StoredFile } from '@acp/core';
import type { Tx } from '@acp/db';
import type { Request, Response } from 'express';
import type { SubjectOf } from './scope.ts';
import type { Services } from './services.ts';
import type { MemoryFile } from './upload.ts';

type FileOf<F> = F extends { into: 'memory' }
  ? MemoryFile
  : F extends { tolerant: true }
    ? StoredFile | FailedFile
    : StoredFile;

/** The files of a multipart row; undefined where the body came as JSON. */
type FilesOf<R extends EndpointRow> = R extends { body_kind: 'multipart'; files: infer F }
  ? readonly FileOf<F>[]
  : R extends { body_kind: 'json_or_multipart'; files: infer F }
    ? readonly FileOf<F>[] | undefined
    : undefined;

export interface Context<R extends EndpointRow> {
  /** The transaction of a `write` row; the plain database of a `none` row. */
  readonly tx: Tx;
  readonly actor: Actor;
  /** The company that the scope led to; an empty string where the row has none. */
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
  /** Announces that a further page exists: `X-Next-Cursor` and `Link`. */
  nextPage(cursor: string | null): void;
  /** Answers with another success status than the row's; it must be listed in `also`. */
  status(code: number): void;
}

type Handler<R extends EndpointRow, P> = (
  context: Context<R>,
  prepared: P,
) => Promise<ResponseOf<R>> | ResponseOf<R>;

export interface Route {
  readonly row: EndpointRow;
  readonly handler: (context: Context<EndpointRow>, prepared: unknown) => unknown;
  readonly prepare?: ((context: Context<EndpointRow>) => unknown) | undefined;
}

/**
 * @param prepare what is too slow for the row's transaction (hashing a password): done before it begins, on a valid
 * body; the handler gets the result. One that holds something (stored bytes) has `release`, which is called when the
 * transaction is over, however it ended and even where an `Idempotency-Key` spared the handler.
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
  // The row that types the handler is the row that mount validates against: here its types are only forgotten.
  return { row, handler, prepare } as Route;
}

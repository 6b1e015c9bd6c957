import { type Actor, type EndpointRow, PATH_PARAM } from '@acp/contract';
import type { Database, Tx } from '@acp/db';
import { tooLarge } from '@acp/kernel';
import type { Request, Response } from 'express';
import type { Context } from './handle.ts';
import type { Answer } from './idempotency.ts';
import { NO_QUERY } from './input.ts';
import type { Params } from './input.ts';
import type { MountedRow } from './mounted-row.ts';
import type { Services } from './services.ts';

export interface CallDeps {
  readonly database: Database;
  readonly services: Services;
}

// Characters. Lists end at 4 MB of rows by themselves: this bounds what a single thing, or a mistake, can come to.
const MAX_ANSWER = 16 * 1024 * 1024;

/** What a preparation may answer, beside anything else. */
export interface Held {
  release(): Promise<void>;
}

/** Who calls a public row. */
const ANONYMOUS: Actor = { kind: 'anonymous', name: 'anonymous' };

/** One request; what the handler sees of it is `Context`. */
export class Call implements Omit<Context<EndpointRow>, 'subject' | 'query' | 'body' | 'files'> {
  readonly mounted: MountedRow;
  readonly services: Services;
  readonly request: Request;
  readonly response: Response;
  params: Params = {};
  actor = ANONYMOUS;
  tx: Tx;
  company_id = '';
  subject: unknown;
  query: unknown = NO_QUERY;
  body: unknown;
  files: unknown;
  /** Where the handler's list goes on; null where it does not. */
  next_cursor: string | null = null;
  #status: number;
  #prepared: unknown;

  constructor(mounted: MountedRow, deps: CallDeps, request: Request, response: Response) {
    this.mounted = mounted;
    this.services = deps.services;
    this.tx = deps.database.db;
    this.request = request;
    this.response = response;
    this.#status = mounted.row.status;
  }

  /** The path with its ids, in one spelling, as it stands in a URL; the slashes of a `{path*}` stay. */
  get target(): string {
    return this.mounted.row.path.replaceAll(PATH_PARAM, (pattern, name: string) => {
      const encoded = encodeURIComponent(this.params[name] ?? '');
      return pattern.endsWith('*}') ? encoded.replaceAll('%2F', '/') : encoded;
    });
  }

  nextPage(cursor: string | null): void {
    this.next_cursor = cursor;
  }

  /** Says so in the response's headers. */
  announceNextPage(): void {
    const cursor = this.next_cursor;
    if (cursor === null) return;
    const parameters = new URLSearchParams(this.request.url.split('?')[1]);
    parameters.set('cursor', cursor);
    this.response.setHeader('X-Next-Cursor', cursor);
    this.response.setHeader('Link', `<${this.target}?${parameters.toString()}>; rel="next"`);
  }

  status(code: number): void {
    const { row } = this.mounted;
    if (code !== row.status && !row.also?.includes(code))
      throw new Error(`${row.id} does not answer ${code}`);
    this.#status = code;
  }

  /** What tells two requests of one `Idempotency-Key` apart. */
  get comparableBody(): unknown {
    const { body, mounted } = this;
    if (mounted.writeOnly.size === 0 || typeof body !== 'object' || body === null) return body;
    return Object.fromEntries(Object.entries(body).filter(([name]) => !mounted.writeOnly.has(name)));
  }

  async prepare(): Promise<void> {
    this.#prepared = await this.mounted.prepare?.(this as Context<EndpointRow>);
  }

  /** Lets go of what the preparation holds. */
  async release(): Promise<void> {
    await (this.#prepared as Partial<Held> | undefined)?.release?.();
  }

  async run(): Promise<Answer> {
    const { row, handler, checkResponse } = this.mounted;
    const result = await handler(this as Context<EndpointRow>, this.#prepared);
    if (row.streams || row.response === null || result === undefined) {
      return { status: this.#status, text: undefined };
    }
    const text = JSON.stringify(result);
    if (text.length > MAX_ANSWER)
      throw tooLarge('the answer would be too large: ask for fewer items by limit');
    // Before the commit: an answer that we may not give must not have happened.
    checkResponse?.(text);
    return { status: this.#status, text };
  }
}

import { type Actor, type EndpointRow, PATH_PARAM } from '@acp/contract';
import type { Database, Tx } from '@acp/db';
import { tooLarge } from '@acp/kernel';
import type { Request, Response } from 'express';
import { AtCommit } from './at-commit.ts';
import type { Context } from './handle.ts';
import type { Answer } from './idempotency.ts';
import { NO_QUERY, queryOf } from './input.ts';
import type { Params } from './input.ts';
import type { MountedRow } from './mounted-row.ts';
import type { Services } from './services.ts';

export interface CallDeps {
  readonly database: Database;
  readonly services: Services;
}

// Characters. Lists stop at 4 MB of rows by themselves: this limits single items and mistakes.
const MAX_ANSWER = 16 * 1024 * 1024;

/** What a preparation may return in addition to its result. */
export interface Held {
  release(): Promise<void>;
}

/** The caller of a public row. */
const ANONYMOUS: Actor = { kind: 'anonymous', name: 'anonymous' };

/** One request; `Context` is the handler's view of it. */
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
  /** Cursor of the handler's next page; null if there is none. */
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

  /** The path with its ids, normalised and URL-encoded; the slashes of a `{path*}` stay. */
  get target(): string {
    return this.mounted.row.path.replaceAll(PATH_PARAM, (pattern, name: string) => {
      const encoded = encodeURIComponent(this.params[name] ?? '');
      return pattern.endsWith('*}') ? encoded.replaceAll('%2F', '/') : encoded;
    });
  }

  nextPage(cursor: string | null): void {
    this.next_cursor = cursor;
  }

  /** Sets the response headers for the next page. */
  announceNextPage(): void {
    const cursor = this.next_cursor;
    if (cursor === null) return;
    const parameters = new URLSearchParams(queryOf(this.request.url));
    parameters.set('cursor', cursor);
    this.response.setHeader('X-Next-Cursor', cursor);
    this.response.setHeader('Link', `<${this.target}?${parameters.toString()}>; rel="next"`);
  }

  status(code: number): void {
    const { row } = this.mounted;
    if (code !== row.status && !row.also?.includes(code)) throw new Error(`${row.id} may not answer ${code}`);
    this.#status = code;
  }

  /** The part of the body that distinguishes two requests with one `Idempotency-Key`. */
  get comparableBody(): unknown {
    const { body, mounted } = this;
    if (mounted.writeOnly.size === 0 || typeof body !== 'object' || body === null) return body;
    return Object.fromEntries(Object.entries(body).filter(([name]) => !mounted.writeOnly.has(name)));
  }

  async prepare(): Promise<void> {
    this.#prepared = await this.mounted.prepare?.(this as Context<EndpointRow>);
  }

  /** Releases whatever the preparation holds. */
  async release(): Promise<void> {
    await (this.#prepared as Partial<Held> | undefined)?.release?.();
  }

  async run(): Promise<Answer> {
    const { answer } = await this.runToCommit();
    return answer;
  }

  /** The same for the end of a transaction: the answer may be there only with its commit. */
  async runToCommit(): Promise<{ answer: Answer | Promise<Answer> }> {
    const result = await this.mounted.handler(this as Context<EndpointRow>, this.#prepared);
    if (!(result instanceof AtCommit)) return { answer: this.#answerWith(result) };
    const answer = result.result.then((known) => this.#answerWith(known));
    // If the commit fails, no one waits for it.
    answer.catch(() => undefined);
    return { answer };
  }

  #answerWith(result: unknown): Answer {
    const { row, checkResponse } = this.mounted;
    if (row.streams || row.response === null || result === undefined) {
      return { status: this.#status, text: undefined };
    }
    const text = JSON.stringify(result);
    if (text.length > MAX_ANSWER)
      throw tooLarge('the answer would be too large: ask for fewer items by limit');
    // Before the commit wherever it can be: an answer that must not be sent must have had no effect.
    checkResponse?.(text);
    return { status: this.#status, text };
  }
}

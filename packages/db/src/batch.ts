import { type CustomTypesConfig, Query, type QueryResult, types as pgTypes } from 'pg';
import { isConnectionError, SKIPPED } from './errors.ts';

export interface Statement {
  text: string;
  values?: readonly unknown[] | undefined;
  /** The name it is prepared under; assigned by the client. */
  name?: string | undefined;
  /** How its rows are parsed. */
  rowMode?: unknown;
  types?: CustomTypesConfig | undefined;
  /** Part of opening the transaction; not counted as a statement. */
  setting?: true;
}

/** The parts of pg's connection needed to send several statements with a single `Sync`. */
interface Wire {
  stream: { cork(): void; uncork(): void };
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
  execute(portal: { portal: string }): void;
  sync(): void;
}

/** What pg's types leave out of its `Query`. */
interface DriverQuery {
  callback: (err: Error | null, result: QueryResult) => void;
  submit(wire: Wire): void;
  /** Sends everything but the end of a statement, for which it calls `_getRows`. */
  prepare(wire: Wire): void;
  _getRows(wire: Wire): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, wire: Wire): void;
  handleReadyForQuery(wire: Wire): void;
  handleError(err: Error, wire: Wire): void;
}
const PgQuery = Query as unknown as new (config: object) => DriverQuery;

/**
 * Several statements sent in one write and answered together. PostgreSQL runs them in order and skips those after the first
 * failure. pg sees a single query of its pipeline: each part exposes its own name and text while it is being handled, so pg's
 * bookkeeping of prepared statements stays correct.
 */
export class Batch extends PgQuery {
  parts: readonly Statement[];
  /** The result of each part, or why it has none. */
  readonly answers: readonly Promise<QueryResult>[];
  /** Resolves once all parts are done; rejects with the first failure. */
  readonly finished: Promise<void>;
  /** They collect the parts' rows. */
  readonly #collectors: readonly DriverQuery[];
  readonly #reject: readonly ((reason: Error) => void)[];
  /** Index of the part being sent, then of the one whose answer is awaited. */
  #at = 0;
  #isSending = false;
  #failed = false;

  constructor(parts: readonly Statement[]) {
    super({ text: '' });
    this.parts = parts;
    const collected = parts.map(collector);
    this.#collectors = collected.map(({ query }) => query);
    this.#reject = collected.map(({ reject }) => reject);
    this.answers = collected.map(({ answer }) => answer);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.finished = promise;
    this.callback = (err) => (err ? reject(err) : resolve());
  }

  /** Number of statements completed. */
  get done(): number {
    return this.#at;
  }

  get name(): string | undefined {
    return this.parts[this.#at]?.name;
  }
  get text(): string | undefined {
    return this.parts[this.#at]?.text;
  }
  get values(): readonly unknown[] | undefined {
    return this.parts[this.#at]?.values;
  }
  // Assigned by pg's constructor.
  set name(_: unknown) {}
  set text(_: unknown) {}
  set values(_: unknown) {}

  override submit(wire: Wire): void {
    this.#isSending = true;
    wire.stream.cork();
    try {
      for (; this.#at < this.parts.length && !this.#failed; this.#at += 1) this.prepare(wire);
    } finally {
      this.#at = 0;
      this.#isSending = false;
      wire.stream.uncork();
    }
  }

  override _getRows(wire: Wire): void {
    wire.execute({ portal: '' });
    if (this.#at === this.parts.length - 1) wire.sync();
  }

  override handleRowDescription(message: unknown): void {
    this.#collectors[this.#at]?.handleRowDescription(message);
  }

  override handleDataRow(message: unknown): void {
    this.#collectors[this.#at]?.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, wire: Wire): void {
    this.#collectors[this.#at]?.handleCommandComplete(message, wire);
    this.#at += 1;
  }

  override handleReadyForQuery(wire: Wire): void {
    for (const query of this.#collectors) query.handleReadyForQuery(wire);
    super.handleReadyForQuery(wire);
  }

  override handleError(err: Error, wire: Wire): void {
    this.#failed = true;
    // Parts after the failed one were never parsed.
    for (const { name } of this.parts.slice(this.#at)) if (name) delete wire.submittedNamedStatements[name];
    // What can't be sent fails as a whole: those before it run, but nobody waits for their answers.
    const done = this.#isSending ? 0 : this.#at;
    for (const query of this.#collectors.slice(0, done)) query.handleReadyForQuery(wire);
    const ofRest = isConnectionError(err) ? err : skipped(err);
    for (const [place, reject] of this.#reject.entries())
      if (place >= done) reject(place === this.#at ? err : ofRest);
    super.handleError(err, wire);
  }
}

function collector({ rowMode, types = pgTypes }: Statement) {
  const query = new PgQuery({ text: '', rowMode, types });
  const { promise: answer, resolve, reject } = Promise.withResolvers<QueryResult>();
  query.callback = (err, result) => (err ? reject(err) : resolve(result));
  // Not everyone asks for it.
  answer.catch(() => undefined);
  return { query, answer, reject };
}

/** Not the failure itself, which might be taken for the statement's own: for a conflict that it has an answer to. */
function skipped(cause: Error): Error {
  return Object.assign(new Error('skipped: a statement before it failed', { cause }), { code: SKIPPED });
}

import { type CustomTypesConfig, Query, type QueryResult } from 'pg';

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
  handleError(err: Error, wire: Wire): void;
}
const PgQuery = Query as unknown as new (config: object) => DriverQuery;

/**
 * Several statements sent in one write and answered together. PostgreSQL runs them in order and skips those after the first
 * failure. One of the results is returned. pg sees a single query of its pipeline: each part exposes its own name and text
 * while it is being handled, so pg's bookkeeping of prepared statements stays correct.
 */
export class Batch extends PgQuery {
  parts: readonly Statement[];
  readonly #wanted: number;
  /** Index of the part being sent, then of the one whose answer is awaited. */
  #at = 0;
  #failed = false;

  /** @param wanted index of the statement whose result is returned */
  constructor(parts: readonly Statement[], wanted: number) {
    const { rowMode, types } = parts[wanted]!;
    super({ text: '', rowMode, types });
    this.parts = parts;
    this.#wanted = wanted;
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
    wire.stream.cork();
    try {
      for (; this.#at < this.parts.length && !this.#failed; this.#at += 1) this.prepare(wire);
    } finally {
      this.#at = 0;
      wire.stream.uncork();
    }
  }

  override _getRows(wire: Wire): void {
    wire.execute({ portal: '' });
    if (this.#at === this.parts.length - 1) wire.sync();
  }

  override handleRowDescription(message: unknown): void {
    if (this.#at === this.#wanted) super.handleRowDescription(message);
  }

  override handleDataRow(message: unknown): void {
    if (this.#at === this.#wanted) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, wire: Wire): void {
    if (this.#at === this.#wanted) super.handleCommandComplete(message, wire);
    this.#at += 1;
  }

  override handleError(err: Error, wire: Wire): void {
    this.#failed = true;
    // Parts after the failed one were never parsed.
    for (const { name } of this.parts.slice(this.#at)) if (name) delete wire.submittedNamedStatements[name];
    super.handleError(err, wire);
  }
}

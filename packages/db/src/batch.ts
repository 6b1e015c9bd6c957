import { type CustomTypesConfig, Query, type QueryResult } from 'pg';

export interface Statement {
  text: string;
  values?: readonly unknown[] | undefined;
  /** Under which it is prepared; the client gives it. */
  name?: string | undefined;
  /** How its rows are read. */
  rowMode?: unknown;
  types?: CustomTypesConfig | undefined;
  /** Belongs to the opening of its transaction, and is not counted beside it. */
  setting?: true;
}

/** What has to be known of pg's connection to send several statements with one `Sync`. */
interface Wire {
  stream: { cork(): void; uncork(): void };
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
  execute(portal: { portal: string }): void;
  sync(): void;
}

/** What the types of pg leave out of its `Query`. */
interface DriverQuery {
  callback: (err: Error | null, result: QueryResult) => void;
  submit(wire: Wire): void;
  /** Sends all of a statement but its end, for which it calls `_getRows`. */
  prepare(wire: Wire): void;
  _getRows(wire: Wire): void;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, wire: Wire): void;
  handleError(err: Error, wire: Wire): void;
}
const PgQuery = Query as unknown as new (config: object) => DriverQuery;

/**
 * Statements that go out in one write and are answered in one: PostgreSQL does one after the other, and none behind one
 * that fails. Of the answers one is wanted. To pg it is one query of its pipeline: each part shows its own name and text
 * while its turn lasts, so that pg keeps book of what is prepared as ever.
 */
export class Batch extends PgQuery {
  parts: readonly Statement[];
  readonly #wanted: number;
  /** The part that is being sent, then the one whose answer is awaited. */
  #at = 0;
  #failed = false;

  /** @param wanted the place of the statement whose answer is wanted */
  constructor(parts: readonly Statement[], wanted: number) {
    const { rowMode, types } = parts[wanted]!;
    super({ text: '', rowMode, types });
    this.parts = parts;
    this.#wanted = wanted;
  }

  /** How many of its statements were done. */
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
  // pg's constructor writes them.
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
    // What stood behind the one that failed was not even parsed.
    for (const { name } of this.parts.slice(this.#at)) if (name) delete wire.submittedNamedStatements[name];
    super.handleError(err, wire);
  }
}

import { sql } from 'drizzle-orm';
import { type Database, isRefusal, type Listener, loneWrite, transaction, WILDCARD } from '@acp/db';
import { Batches } from '@acp/kernel';
import { enqueue } from './enqueue.ts';
import { type CommandError, LEASED } from './run-command.ts';

export interface NewCommand {
  id: string;
  name: string;
  company_id: string | null;
  actor: unknown;
  /** JSON. */
  payload: string;
  payload_key: string | null;
  /** Null: any scheduler may take it. */
  lease: string | null;
  /** When its caller gives up, by `performance.now()`. */
  gives_up_at: number;
}

export interface Outcome extends Record<string, unknown> {
  id: string;
  status: string;
  result: unknown;
  result_key: string | null;
  error: CommandError | null;
}

/** A notification may be lost with a connection; the row is not. */
const LOOK_EVERY_MS = 2000;
/** Bounded by the total size of the bodies in one statement, 64 KB each. */
const MOST_AT_ONCE = 64;
/** A statement costs far more than one more call in it, so under load calls wait this long for each other. */
const GATHER_MS = 5;

/** The commands that one process is waiting for: many calls share their statements and one subscription. */
export class Calls {
  readonly #database: Database;
  readonly #listener: Listener;
  readonly #tell = new Map<string, () => void>();
  readonly #inserts: Batches<NewCommand, void>;
  readonly #reads: Batches<string, Outcome | undefined>;

  constructor(database: Database, listener: Listener) {
    this.#database = database;
    this.#listener = listener;
    this.#inserts = new Batches({
      most: MOST_AT_ONCE,
      rest_ms: GATHER_MS,
      tries_alone: isRefusal,
      perform: async (commands) => insertLeased(database, commands),
    });
    this.#reads = new Batches({
      most: MOST_AT_ONCE,
      rest_ms: GATHER_MS,
      perform: async (ids) => readOutcomes(database, ids),
    });
    const notifyAll = () => {
      for (const tell of this.#tell.values()) tell();
    };
    listener.onReconnect(notifyAll);
    listener.on('commands', (items) => {
      if (items.includes(WILDCARD)) notifyAll();
      else for (const item of items) this.#tell.get(item)?.();
    });
  }

  /** @returns undefined if it has not finished when `givenUp` aborts */
  async outcomeOf(command: NewCommand, givenUp: AbortSignal): Promise<Outcome | undefined> {
    // Subscribed before the command exists, so that its completion can't be missed.
    const news = this.#newsOf(command.id, givenUp);
    try {
      await Promise.race([this.#listener.ready(), news.over]);
      // Nobody would wait for its outcome.
      if (givenUp.aborted) return undefined;
      await this.#insert(command);
      for (;;) {
        await news.next();
        const outcome = await this.#reads.add(command.id);
        if (outcome !== undefined || givenUp.aborted) return outcome;
      }
    } finally {
      news.close();
    }
  }

  async #insert(command: NewCommand): Promise<void> {
    if (command.lease !== null) return this.#inserts.add(command);
    await transaction(this.#database, async (tx) => {
      await tx.execute(insertOf([command]));
      await enqueue(tx, 'run-command', { command_id: command.id, company_id: command.company_id });
    });
  }

  /** Waits for news of this command, a gap in notifications (a reconnect or a wildcard), a poll interval, or the timeout. */
  #newsOf(id: string, givenUp: AbortSignal): News {
    let news = Promise.withResolvers<void>();
    const tell = () => news.resolve();
    const looks = setInterval(tell, LOOK_EVERY_MS).unref();
    const over = Promise.withResolvers<void>();
    const end = () => {
      tell();
      over.resolve();
    };
    this.#tell.set(id, tell);
    givenUp.addEventListener('abort', end, { once: true });
    return {
      over: over.promise,
      async next() {
        await news.promise;
        if (!givenUp.aborted) news = Promise.withResolvers();
      },
      close: () => {
        this.#tell.delete(id);
        clearInterval(looks);
        givenUp.removeEventListener('abort', end);
      },
    };
  }
}

interface News {
  /** Resolves at the timeout. */
  over: Promise<void>;
  /** Resolves immediately if something has arrived since the last call. */
  next(): Promise<void>;
  close(): void;
}

async function insertLeased(database: Database, commands: readonly NewCommand[]): Promise<void[]> {
  await loneWrite(database, insertOf(commands));
  database.notifier?.push('commands', [LEASED]);
  return commands.map(() => undefined);
}

/** The same text for any number of commands, so its plan is cached. Idempotent. */
function insertOf(commands: readonly NewCommand[]) {
  const column = <K extends keyof NewCommand>(name: K) => sql.param(commands.map((each) => each[name]));
  // What is left at the moment of writing: a caller may have waited for a connection before.
  const left = sql.param(commands.map(({ gives_up_at }) => Math.max(0, gives_up_at - performance.now())));
  const actors = sql.param(commands.map(({ actor }) => JSON.stringify(actor ?? null)));
  return sql`
    insert into commands (id, name, company_id, actor, payload, payload_key, lease, status, deadline)
    select id, name, company_id, actor::jsonb, payload::jsonb, payload_key, lease, 'queued', now() + left_ms * interval '1 ms'
    from unnest(${column('id')}::uuid[], ${column('name')}::text[], ${column('company_id')}::uuid[], ${actors}::text[],
      ${column('payload')}::text[], ${column('payload_key')}::text[], ${column('lease')}::text[], ${left}::float8[])
      as c(id, name, company_id, actor, payload, payload_key, lease, left_ms)
    on conflict (id) do nothing`;
}

async function readOutcomes(database: Database, ids: readonly string[]): Promise<(Outcome | undefined)[]> {
  const { rows } = await database.db.execute<Outcome>(sql`
    select id, status, result, result_key, error from commands
    where id = any(${sql.param(ids)}::uuid[]) and status not in ('queued', 'running')`);
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => known.get(id));
}

import { sql } from 'drizzle-orm';
import { checkCommandBody, commandCatalogue } from '@acp/contract';
import type { CommandName, CommandPayload, CommandResult, CommandRow } from '@acp/contract';
import { signal, transaction, WILDCARD } from '@acp/db';
import type { Database, Listener, Tx } from '@acp/db';
import { errorKinds, newId, ServiceError, unavailable } from '@acp/kernel';
import { type CommandBodies, readBody, storeBody } from './command-bodies.ts';
import { enqueue } from './enqueue.ts';
import { LEASED } from './leased-commands.ts';
import type { CommandError } from './run-command.ts';

export interface CallCommandOptions {
  /** Who asks; stored with the command and given to its handler. */
  actor: unknown;
  company_id?: string | null;
  /** Less than the catalogue's deadline. */
  timeout_ms?: number;
  /** For payloads and results over 64 KB, which are refused without it. */
  bodies?: CommandBodies | undefined;
}

const MAX_TIMEOUT_MS = 30_000;
/** Word may be lost with a connection; the row is not. */
const LOOK_EVERY_MS = 2000;

type Outcome = { status: string; result: unknown; result_key: string | null; error: CommandError | null };

/**
 * Has a scheduler do it and waits for the result, which is checked. Throws what its handler threw, if that was a
 * ServiceError, and `unavailable` when nobody answered in time: it may then have been done, but is not started any more.
 */
export async function callCommand<N extends CommandName>(
  database: Database,
  listener: Listener,
  name: N,
  payload: CommandPayload<N>,
  options: CallCommandOptions,
): Promise<CommandResult<N>> {
  const result = await callRow(database, listener, { name, row: commandCatalogue[name] }, payload, options);
  return result as CommandResult<N>;
}

interface NamedRow {
  name: string;
  row: CommandRow;
}

/** The same for a row of any table. */
export async function callRow(
  database: Database,
  listener: Listener,
  { name, row }: NamedRow,
  payload: unknown,
  options: CallCommandOptions,
): Promise<unknown> {
  checkCommandBody(row.payload, payload, `payload of ${name}`);
  const timeoutMs = Math.min(options.timeout_ms ?? MAX_TIMEOUT_MS, row.deadline_sec * 1000, MAX_TIMEOUT_MS);
  const id = newId();
  // Subscribed before the command exists, so that no answer is missed.
  const givenUp = AbortSignal.timeout(timeoutMs);
  const news = subscribe(listener, id, givenUp);
  try {
    const { json, key } = await storeBody(payload, options.bodies);
    await Promise.race([listener.ready(), news.over]);
    const lease = row.taken_by === 'any' ? null : (row.taken_by as (payload: unknown) => string)(payload);
    await transaction(database, async (tx) => {
      await insertCommand(tx, { id, name, json, key, lease, timeoutMs }, options);
      if (lease === null) await enqueue(tx, 'run-command', { command_id: id });
      else signal(tx, 'commands', LEASED);
    });
    for (;;) {
      await news.next();
      const outcome = await readOutcome(database.db, id);
      if (outcome !== undefined) return checked(name, row, await valueOf(outcome, options.bodies));
      if (givenUp.aborted) throw unavailable('no scheduler answered in time');
    }
  } finally {
    news.close();
  }
}

interface NewCommand {
  id: string;
  name: string;
  json: string;
  key: string | null;
  lease: string | null;
  timeoutMs: number;
}

async function insertCommand(
  tx: Tx,
  { id, name, json, key, lease, timeoutMs }: NewCommand,
  { actor, company_id }: CallCommandOptions,
): Promise<void> {
  await tx.execute(sql`
    insert into commands (id, name, company_id, actor, payload, payload_key, lease, status, deadline)
    values (${id}, ${name}, ${company_id ?? null}, ${JSON.stringify(actor ?? null)}::jsonb,
      ${json}::jsonb, ${key}, ${lease}, 'queued', now() + ${timeoutMs}::float8 * interval '1 ms')`);
}

async function readOutcome(tx: Tx, id: string): Promise<Outcome | undefined> {
  const { rows } = await tx.execute<Outcome>(
    sql`select status, result, result_key, error from commands where id = ${id} and status not in ('queued', 'running')`,
  );
  return rows[0];
}

async function valueOf(outcome: Outcome, bodies: CommandBodies | undefined): Promise<unknown> {
  const { status, result, result_key, error } = outcome;
  if (status === 'succeeded') return readBody(result, result_key, bodies);
  if (status === 'expired') throw unavailable('no scheduler answered in time');
  const kind = errorKinds.find((known) => known === error?.kind);
  if (error === null || kind === undefined) throw new Error('the command failed');
  const { message, extra, retry_after_sec } = error;
  throw new ServiceError(kind, message, { extra, retry_after_sec });
}

/** What another version of the scheduler answers may be of another shape: that is our failure, not the caller's. */
function checked(name: string, row: CommandRow, result: unknown): unknown {
  try {
    return checkCommandBody(row.result, result, `result of ${name}`);
  } catch (cause) {
    throw new Error('the command answered with a result of another shape', { cause });
  }
}

interface News {
  /** Resolves at the end of the time. */
  over: Promise<void>;
  /** Resolves at once where something came since the last time. */
  next(): Promise<void>;
  close(): void;
}

/** Word of this command, a gap in the news (a reconnection, too much to say), a while without any, or the end of the time. */
function subscribe(listener: Listener, id: string, givenUp: AbortSignal): News {
  let news = Promise.withResolvers<void>();
  const tell = () => news.resolve();
  const offItems = listener.on('commands', (items) => {
    if (items.includes(id) || items.includes(WILDCARD)) tell();
  });
  const offReconnect = listener.onReconnect(tell);
  const looks = setInterval(tell, LOOK_EVERY_MS).unref();
  const over = Promise.withResolvers<void>();
  const end = () => {
    tell();
    over.resolve();
  };
  givenUp.addEventListener('abort', end, { once: true });
  return {
    over: over.promise,
    async next() {
      await news.promise;
      if (!givenUp.aborted) news = Promise.withResolvers();
    },
    close() {
      offItems();
      offReconnect();
      clearInterval(looks);
      givenUp.removeEventListener('abort', end);
    },
  };
}

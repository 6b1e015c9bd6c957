import { DrizzleQueryError, type SQL, sql } from 'drizzle-orm';
import { hostname } from 'node:os';
import { checkCommandBody } from '@acp/contract';
import type { CommandRow, CommandTable } from '@acp/contract';
import { asServiceError, isRefusal, loneWrite, transaction } from '@acp/db';
import type { Database, Tx } from '@acp/db';
import { Batches, ServiceError } from '@acp/kernel';
import type { Logger, Said } from '@acp/kernel';
import { type CommandBodies, readBody, storeBody, type StoredBody } from './command-bodies.ts';

export interface CommandContext {
  command_id: string;
  company_id: string | null;
  /** As passed by the caller. */
  actor: unknown;
  /** Aborts at the caller's deadline, when no one is waiting any more. */
  signal: AbortSignal;
}

type Handler = (payload: never, context: CommandContext) => Promise<unknown>;

export interface CommandRunner {
  database: Database;
  /** The catalogue's rows and their handlers. */
  table: CommandTable;
  handlers: Readonly<Record<string, Handler>>;
  bodies?: CommandBodies | undefined;
  /** Batches the storing of outcomes. */
  ends: Batches<CommandEnd, void>;
  logger?: Logger | undefined;
}

/** Item of the `commands` channel: a command is waiting for the owner of its lease. */
export const LEASED = 'leased';

/** Content of the `error` column; kind null: a failure whose message is not for callers. */
export interface CommandError {
  kind: string | null;
  message: string;
  /** The message with its values apart. */
  said?: Said | undefined;
  extra?: Record<string, unknown> | undefined;
  retry_after_sec?: number | undefined;
}

/** A command that belongs to this process until its outcome is stored. */
export interface Claimed extends Record<string, unknown> {
  id: string;
  name: string;
  company_id: string | null;
  actor: unknown;
  payload: unknown;
  payload_key: string | null;
  lease: string | null;
  /** `expired`: its deadline had passed. */
  status: 'running' | 'expired';
  left_ms: number;
}

/** Outcome of a command; `queued` returns it for the lease's new owner. */
interface CommandEnd {
  id: string;
  status: 'succeeded' | 'failed' | 'queued';
  result: StoredBody | null;
  error: CommandError | null;
}

/** Thrown by a handler of a leased command whose lease is no longer owned here. Nothing was done. */
export class LeaseLost extends Error {}

const claimant = `${hostname()}:${process.pid}`;

/** Claims a command, executes it and stores the outcome. If it belongs to another process, that one was notified. */
export async function runCommand(runner: CommandRunner, id: string, stopping: AbortSignal): Promise<void> {
  const [command] = await claim(runner.database.db, sql`select ${id}::uuid as id`);
  if (command !== undefined) await performCommand(runner, command, stopping);
}

/** The same for a command that is already claimed. */
export async function performCommand(
  runner: CommandRunner,
  command: Claimed,
  stopping: AbortSignal,
): Promise<void> {
  if (command.status !== 'running') return;
  const deadline = AbortSignal.timeout(Math.max(0, Math.ceil(command.left_ms)));
  const signal = AbortSignal.any([stopping, deadline]);
  await runner.ends.add(await endOf(runner, command, signal));
}

async function endOf(runner: CommandRunner, command: Claimed, signal: AbortSignal): Promise<CommandEnd> {
  const { id, name, lease } = command;
  try {
    const result = await storeBody(await handle(runner, command, signal), runner.bodies);
    return { id, status: 'succeeded', result, error: null };
  } catch (err) {
    if (err instanceof LeaseLost && lease !== null)
      return { id, status: 'queued', result: null, error: null };
    const error = describe(err);
    // After its deadline no one is waiting: what was slow may be a server of the company's, which is no fault of ours.
    if (error.kind === null)
      runner.logger?.[signal.aborted ? 'info' : 'error']('a command failed', {
        command: name,
        command_id: id,
        error: err,
      });
    return { id, status: 'failed', result: null, error };
  }
}

async function handle(
  { table, handlers, bodies }: CommandRunner,
  { id: command_id, name, company_id, actor, payload, payload_key }: Claimed,
  signal: AbortSignal,
): Promise<unknown> {
  const row: CommandRow | undefined = Object.hasOwn(table, name) ? table[name] : undefined;
  const handler = handlers[name] as ((...args: [unknown, CommandContext]) => Promise<unknown>) | undefined;
  if (row === undefined || handler === undefined) throw new Error(`no handler for command ${name}`);
  const body = checkCommandBody(
    row.payload,
    await readBody(payload, payload_key, bodies),
    `payload of ${name}`,
  );
  const result = (await handler(body, { command_id, company_id, actor, signal })) ?? null;
  try {
    return checkCommandBody(row.result, result, `result of ${name}`);
  } catch (cause) {
    // Not the caller's fault: reported without its message.
    throw new Error(`the handler of ${name} returned what its row does not allow`, { cause });
  }
}

/**
 * One statement decides: a command is not started after its deadline, and only by one scheduler.
 * @param wanted a query for their `id`s
 */
export async function claim(tx: Tx, wanted: SQL): Promise<Claimed[]> {
  const { rows } = await tx.execute<Claimed>(sql`
    with wanted as materialized (${wanted})
    update commands c set
      status = case when c.deadline > now() then 'running' else 'expired' end,
      finished_at = case when c.deadline > now() then null else now() end,
      claimed_by = ${claimant}
    from wanted where c.id = wanted.id and c.status = 'queued'
    returning c.id, c.name, c.company_id, c.actor, c.payload, c.payload_key, c.lease, c.status,
      (extract(epoch from c.deadline - now()) * 1000)::float8 as left_ms`);
  return rows;
}

/** Bounded by the total size of the results in one statement, 64 KB each. */
const MOST_ENDS = 64;
/** A statement costs far more than one more outcome in it, so under load outcomes wait this long for each other. */
const GATHER_MS = 5;

/** Stores the outcomes of many commands together and notifies all waiting processes with one message. */
export function commandEnds(database: Database): CommandRunner['ends'] {
  return new Batches<CommandEnd, void>({
    most: MOST_ENDS,
    rest_ms: GATHER_MS,
    tries_alone: isRefusal,
    perform: async (ends) => {
      const statement = endsOf(ends);
      const isGivenBack = ends.some(({ status }) => status === 'queued');
      // A released command may already run again when a second attempt would release it once more.
      if (isGivenBack) await transaction(database, async (tx) => tx.execute(statement));
      else await loneWrite(database, statement);
      const news = ends.map(({ id, status }) => (status === 'queued' ? LEASED : id));
      database.notifier?.push('commands', news);
      return ends.map(() => undefined);
    },
  });
}

function endsOf(ends: readonly CommandEnd[]): SQL {
  const column = (read: (end: CommandEnd) => string | null) => sql.param(ends.map(read));
  return sql`
    update commands c set status = e.status, result = e.result::jsonb, result_key = e.result_key, error = e.error::jsonb,
      finished_at = case when e.status = 'queued' then null else now() end
    from unnest(${column(({ id }) => id)}::uuid[], ${column(({ status }) => status)}::text[],
      ${column(({ result }) => result?.json ?? null)}::text[], ${column(({ result }) => result?.key ?? null)}::text[],
      ${column(({ error }) => (error === null ? null : JSON.stringify(error)))}::text[])
      as e(id, status, result, result_key, error)
    where c.id = e.id and c.status = 'running'`;
}

export function describe(err: unknown): CommandError {
  // Only of a failed query is it certain that the database was away: others fail with the same codes.
  const known = err instanceof DrizzleQueryError ? asServiceError(err) : err;
  if (!(known instanceof ServiceError)) return { kind: null, message: 'the command failed' };
  const { kind, message, said, extra, retry_after_sec } = known;
  return { kind, message, said, extra, retry_after_sec };
}

/** Results are kept for an hour (decisions 6). Returns the number of rows deleted; called by a scheduler timer. */
export async function deleteOldCommands(tx: Tx): Promise<number> {
  const { rowCount } = await tx.execute(
    sql`delete from commands where created_at < now() - interval '1 hour'`,
  );
  return rowCount ?? 0;
}

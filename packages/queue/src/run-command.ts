import { sql } from 'drizzle-orm';
import { hostname } from 'node:os';
import { checkCommandBody } from '@acp/contract';
import type { CommandRow, CommandTable } from '@acp/contract';
import { signal as signalAfterCommit, transaction } from '@acp/db';
import type { Database, Tx } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import type { Logger } from '@acp/kernel';
import { type CommandBodies, readBody, storeBody, type StoredBody } from './command-bodies.ts';

export interface CommandContext {
  command_id: string;
  company_id: string | null;
  /** As the caller gave it. */
  actor: unknown;
  /** Aborts at the caller's deadline: nobody waits any more. */
  signal: AbortSignal;
}

type Handler = (payload: never, context: CommandContext) => Promise<unknown>;

export interface CommandRunner {
  database: Database;
  /** The catalogue's rows, and for each its handler. */
  table: CommandTable;
  handlers: Readonly<Record<string, Handler>>;
  bodies?: CommandBodies | undefined;
  logger?: Logger | undefined;
}

/** The `error` column; kind null: a failure whose message is not for callers. */
export interface CommandError {
  kind: string | null;
  message: string;
  extra?: Record<string, unknown> | undefined;
  retry_after_sec?: number | undefined;
}

type Claimed = {
  name: string;
  company_id: string | null;
  actor: unknown;
  payload: unknown;
  payload_key: string | null;
  status: string;
  left_ms: number;
};

const claimant = `${hostname()}:${process.pid}`;

/** Claims the command, has its handler do it, and stores the outcome. Who waits for one that is not ours has been told. */
export async function runCommand(runner: CommandRunner, id: string, stopping: AbortSignal): Promise<void> {
  const { database, bodies, logger } = runner;
  const command = await claim(database.db, id);
  if (command?.status !== 'running') return;
  const deadline = AbortSignal.timeout(Math.max(0, Math.ceil(command.left_ms)));
  const signal = AbortSignal.any([stopping, deadline]);
  let result: StoredBody | null = null;
  let error: CommandError | null = null;
  try {
    result = await storeBody(await handle(runner, id, command, signal), bodies);
  } catch (err) {
    error = describe(err);
    if (error.kind === null)
      logger?.error('a command failed', { command: command.name, command_id: id, error: err });
  }
  await transaction(database, async (tx) => finish(tx, id, result, error));
}

async function handle(
  { table, handlers, bodies }: CommandRunner,
  command_id: string,
  { name, company_id, actor, payload, payload_key }: Claimed,
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
    // Not the caller's fault: without its message.
    throw new Error(`the handler of ${name} gave back what its row does not say`, { cause });
  }
}

// One statement decides: not started after its deadline, and by one scheduler only.
async function claim(tx: Tx, id: string): Promise<Claimed | undefined> {
  const { rows } = await tx.execute<Claimed>(sql`
    update commands set
      status = case when deadline > now() then 'running' else 'expired' end,
      finished_at = case when deadline > now() then null else now() end,
      claimed_by = ${claimant}
    where id = ${id} and status = 'queued'
    returning name, company_id, actor, payload, payload_key, status,
      (extract(epoch from deadline - now()) * 1000)::float8 as left_ms`);
  return rows[0];
}

async function finish(
  tx: Tx,
  id: string,
  result: StoredBody | null,
  error: CommandError | null,
): Promise<void> {
  await tx.execute(sql`
    update commands set
      status = ${error === null ? 'succeeded' : 'failed'},
      result = ${result?.json ?? null}::jsonb,
      result_key = ${result?.key ?? null},
      error = ${error === null ? null : JSON.stringify(error)}::jsonb,
      finished_at = now()
    where id = ${id} and status = 'running'`);
  signalAfterCommit(tx, 'commands', id);
}

function describe(err: unknown): CommandError {
  if (!(err instanceof ServiceError)) return { kind: null, message: 'the command failed' };
  const { kind, message, extra, retry_after_sec } = err;
  return { kind, message, extra, retry_after_sec };
}

/** Results are kept for an hour (decisions 6). Gives back how many rows went; a timer of the scheduler calls it. */
export async function deleteOldCommands(tx: Tx): Promise<number> {
  const { rowCount } = await tx.execute(
    sql`delete from commands where created_at < now() - interval '1 hour'`,
  );
  return rowCount ?? 0;
}

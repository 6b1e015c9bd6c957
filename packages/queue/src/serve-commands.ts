import { sql } from 'drizzle-orm';
import { hostname } from 'node:os';
import { signal as signalAfterCommit, transaction } from '@acp/db';
import type { Database, Tx } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import type { Logger } from '@acp/kernel';
import type { JobHandler } from './consumer.ts';

export interface CommandContext {
  command_id: string;
  company_id: string | null;
  /** As the caller gave it. */
  actor: unknown;
  /** Aborts at the caller's deadline: nobody waits any more. */
  signal: AbortSignal;
}

/** Gives back JSON. A ServiceError reaches the caller as it is; anything else as a failure without its message. */
export type CommandHandler = (payload: unknown, context: CommandContext) => Promise<unknown>;

export interface ServeCommandsOptions {
  handlers: Readonly<Record<string, CommandHandler>>;
  concurrency?: number;
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
  status: string;
  left_ms: number;
};

const claimant = `${hostname()}:${process.pid}`;

export function commandJobHandler(
  database: Database,
  { handlers }: ServeCommandsOptions,
  logger?: Logger,
): JobHandler<'run-command'> {
  return async ({ command_id: id }, { signal: jobSignal }) => {
    const command = await claim(database.db, id);
    // Taken, expired or forgotten: whoever waits has been told, or reads the row.
    if (command?.status !== 'running') return;
    const deadline = AbortSignal.timeout(Math.max(0, Math.ceil(command.left_ms)));
    const signal = AbortSignal.any([jobSignal, deadline]);
    let result: unknown;
    let error: CommandError | null = null;
    try {
      const handler = handlers[command.name];
      if (handler === undefined) throw new Error(`no handler for command ${command.name}`);
      const { actor, company_id } = command;
      result = await handler(command.payload, { command_id: id, company_id, actor, signal });
    } catch (err) {
      error = describe(err);
      if (error.kind === null)
        logger?.error('a command failed', { command: command.name, command_id: id, error: err });
    }
    await transaction(database, async (tx) => finish(tx, id, result, error));
  };
}

// One statement decides: not started after its deadline, and by one scheduler only.
async function claim(tx: Tx, id: string): Promise<Claimed | undefined> {
  const { rows } = await tx.execute<Claimed>(sql`
    update commands set
      status = case when deadline > now() then 'running' else 'expired' end,
      finished_at = case when deadline > now() then null else now() end,
      claimed_by = ${claimant}
    where id = ${id} and status = 'queued'
    returning name, company_id, actor, payload, status,
      (extract(epoch from deadline - now()) * 1000)::float8 as left_ms`);
  return rows[0];
}

async function finish(tx: Tx, id: string, result: unknown, error: CommandError | null): Promise<void> {
  await tx.execute(sql`
    update commands set
      status = ${error === null ? 'succeeded' : 'failed'},
      result = ${error === null ? JSON.stringify(result ?? null) : null}::jsonb,
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
export async function forgetCommands(tx: Tx): Promise<number> {
  const { rowCount } = await tx.execute(
    sql`delete from commands where created_at < now() - interval '1 hour'`,
  );
  return rowCount ?? 0;
}

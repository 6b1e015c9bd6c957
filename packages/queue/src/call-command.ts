import { sql } from 'drizzle-orm';
import { transaction, WILDCARD } from '@acp/db';
import type { Database, Listener, Tx } from '@acp/db';
import { errorKinds, newId, ServiceError, unavailable } from '@acp/kernel';
import { enqueue } from './enqueue.ts';
import type { CommandError } from './serve-commands.ts';

export interface CallCommandOptions {
  /** Who asks; stored with the command and given to its handler. */
  actor: unknown;
  company_id?: string | null;
  /** 30 s at most and by default (decisions 6). */
  timeout_ms?: number;
}

const MAX_TIMEOUT_MS = 30_000;

type Outcome = { status: string; result: unknown; error: CommandError | null };

/**
 * Has a scheduler do it and waits for the result. Throws what its handler threw, if that was a ServiceError, and
 * `unavailable` when nobody answered in time: it may then have been done, but is not started any more.
 */
export async function callCommand(
  database: Database,
  listener: Listener,
  name: string,
  payload: unknown,
  options: CallCommandOptions,
): Promise<unknown> {
  const timeoutMs = Math.min(options.timeout_ms ?? MAX_TIMEOUT_MS, MAX_TIMEOUT_MS);
  const id = newId();
  // Subscribed before the command exists, so that no answer is missed.
  const givenUp = AbortSignal.timeout(timeoutMs);
  const news = subscribe(listener, id, givenUp);
  try {
    await Promise.race([listener.ready(), news.next()]);
    await transaction(database, async (tx) => {
      await insertCommand(tx, id, name, payload, timeoutMs, options);
      await enqueue(tx, 'run-command', { command_id: id });
    });
    for (;;) {
      await news.next();
      const outcome = await readOutcome(database.db, id);
      if (outcome !== undefined) return valueOf(outcome);
      if (givenUp.aborted) throw unavailable('no scheduler answered in time');
    }
  } finally {
    news.close();
  }
}

async function insertCommand(
  tx: Tx,
  id: string,
  name: string,
  payload: unknown,
  timeoutMs: number,
  { actor, company_id }: CallCommandOptions,
): Promise<void> {
  await tx.execute(sql`
    insert into commands (id, name, company_id, actor, payload, status, deadline)
    values (${id}, ${name}, ${company_id ?? null}, ${JSON.stringify(actor ?? null)}::jsonb,
      ${JSON.stringify(payload ?? null)}::jsonb, 'queued', now() + ${timeoutMs}::float8 * interval '1 ms')`);
}

async function readOutcome(tx: Tx, id: string): Promise<Outcome | undefined> {
  const { rows } = await tx.execute<Outcome>(
    sql`select status, result, error from commands where id = ${id} and status not in ('queued', 'running')`,
  );
  return rows[0];
}

function valueOf({ status, result, error }: Outcome): unknown {
  if (status === 'succeeded') return result;
  if (status === 'expired') throw unavailable('no scheduler answered in time');
  const kind = errorKinds.find((known) => known === error?.kind);
  if (error === null || kind === undefined) throw new Error('the command failed');
  const { message, extra, retry_after_sec } = error;
  throw new ServiceError(kind, message, { extra, retry_after_sec });
}

interface News {
  /** Resolves at once where something came since the last time. */
  next(): Promise<void>;
  close(): void;
}

/** Word of this command, a gap in the news (a reconnection, too much to say), or the end of the time. */
function subscribe(listener: Listener, id: string, givenUp: AbortSignal): News {
  let news = Promise.withResolvers<void>();
  const tell = () => news.resolve();
  const offItems = listener.on('commands', (items) => {
    if (items.includes(id) || items.includes(WILDCARD)) tell();
  });
  const offReconnect = listener.onReconnect(tell);
  givenUp.addEventListener('abort', tell, { once: true });
  return {
    async next() {
      await news.promise;
      if (!givenUp.aborted) news = Promise.withResolvers();
    },
    close() {
      offItems();
      offReconnect();
      givenUp.removeEventListener('abort', tell);
    },
  };
}

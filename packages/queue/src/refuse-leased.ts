import { signal, type Tx } from '@acp/db';
import type { ServiceError } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { describe } from './run-command.ts';

/**
 * Refuses the commands that wait for the owner of a lease, because there will be none: their callers are answered at the
 * commit, not at their deadline.
 */
export async function refuseLeased(tx: Tx, lease: string, reason: ServiceError): Promise<void> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    update commands set status = 'failed', error = ${JSON.stringify(describe(reason))}::jsonb, finished_at = now()
    where lease = ${lease} and status = 'queued' returning id`);
  for (const { id } of rows) signal(tx, 'commands', id);
}

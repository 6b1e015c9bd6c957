import { schema, type Tx } from '@acp/db';
import { and, asc, eq, isNull } from 'drizzle-orm';

const { wakeup_requests } = schema;

/** The agent's wakeups that still need a run: pending and not bound to one, oldest first. */
export async function pendingWakeups(tx: Tx, agent_id: string) {
  const { status, run_id, created_at, id } = wakeup_requests;
  return tx
    .select()
    .from(wakeup_requests)
    .where(and(eq(wakeup_requests.agent_id, agent_id), eq(status, 'pending'), isNull(run_id)))
    .orderBy(asc(created_at), asc(id));
}

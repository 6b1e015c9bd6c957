import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

/**
 * Deletes the output and input of a deleted subject's ended runs; the fact that they ran and their cost remain. A run that is
 * still under way is cleaned up when its kind ends it.
 */
export async function clearRunContent(tx: Tx, subject_id: string | null): Promise<void> {
  if (subject_id === null) return;
  await tx.execute(sql`
    with ended as (
      update heartbeat_runs set summary = null
      where subject_id = ${subject_id} and kind <> 'heartbeat' and finished_at is not null
      returning id, transcript_part
    ), actions as (
      update run_actions set args = '{}', result = null, error = null from ended where run_id = ended.id
    )
    delete from run_events using ended where run_id = ended.id and part = ended.transcript_part`);
}

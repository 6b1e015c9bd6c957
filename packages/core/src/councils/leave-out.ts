import type { Tx } from '@acp/db';
import { cutText, storableText } from '@acp/kernel';
import { sql } from 'drizzle-orm';

// Limit in bytes.
const REASON = 500;

/** Fails these turns: the council continues without their agents and shows the reason. What they said before stays. */
export async function leaveOut(tx: Tx, run_ids: readonly string[], why: string): Promise<void> {
  const reason = cutText(storableText(why), REASON);
  await tx.execute(sql`
    with failed as (
      update council_turns set status = 'failed', error = ${reason}, finished_at = clock_timestamp()
      where run_id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(run_ids)}::jsonb))
        and status in ('planned', 'asked')
      returning session_id, agent_id
    )
    update council_participants p set left_out_reason = coalesce(p.left_out_reason, ${reason})
    from failed where p.session_id = failed.session_id and p.agent_id = failed.agent_id`);
}

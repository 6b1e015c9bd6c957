import { hasStatus, type Tx } from '@acp/db';
import { storableText } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { recordAction } from './record-action.ts';
import type { RunAction, RunLease } from './types.ts';

/** The verb's row contains this from `beginAction` to `completeAction`, and permanently if the run was lost in between. */
const UNDER_WAY = 'under way when the run was lost: look whether it took effect before you repeat it';

/**
 * Records a verb, in a statement of its own, before it does something external that no rollback can undo. It counts as
 * applied, so a run that is lost now is not retried.
 * @returns false if the fence is lost or the ordinal is already recorded
 */
export async function beginAction(
  tx: Tx,
  lease: RunLease,
  action: Pick<RunAction, 'ordinal' | 'verb' | 'args' | 'mutating'>,
): Promise<boolean> {
  return recordAction(tx, lease, { ...action, ok: true, result: UNDER_WAY });
}

/** `recordAction` for a verb that was begun. @returns false if the fence is lost or the verb is already completed */
export async function completeAction(tx: Tx, lease: RunLease, action: RunAction): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    with run as materialized (
      select r.id from heartbeat_runs r
      where r.id = ${lease.run_id} and r.fence = ${lease.fence} and ${hasStatus('running')} for no key update
    )
    update run_actions a set ok = ${action.ok}, result = ${text(action.result)}, error = ${text(action.error)}
    from run where a.run_id = run.id and a.ordinal = ${action.ordinal} and a.result = ${UNDER_WAY}
    returning a.run_id`);
  return rows.length > 0;
}

function text(value: string | null | undefined): string | null {
  return value === null || value === undefined ? null : storableText(value);
}

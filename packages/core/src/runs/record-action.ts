import { hasStatus, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { storableText } from '@acp/kernel';
import { storableJson } from './storable.ts';
import type { RunAction, RunLease } from './types.ts';

/**
 * The last statement of a verb's transaction: the row that proves the verb applied, and the check that the run is still
 * ours. Its lock blocks a sweep until the commit, so a swept run has no verb that the sweep did not see.
 * @returns false if the fence is lost or the ordinal is already recorded: the caller rolls back
 */
export async function recordAction(tx: Tx, lease: RunLease, action: RunAction): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    insert into run_actions (run_id, ordinal, verb, args, mutating, ok, result, error)
    select r.id, ${action.ordinal}, ${action.verb}, ${storableJson(action.args)}::jsonb, ${action.mutating},
      ${action.ok}, ${text(action.result)}, ${text(action.error)}
    from heartbeat_runs r
    where r.id = ${lease.run_id} and r.fence = ${lease.fence} and ${hasStatus('running')} for no key update
    on conflict (run_id, ordinal) do nothing
    returning run_id`);
  return rows.length > 0;
}

/**
 * The same check for whatever else a run writes: the last statement of the transaction, after the agent's lock.
 * @returns false if the fence is lost: the caller rolls back
 */
export async function lockRun(tx: Tx, lease: Pick<RunLease, 'run_id' | 'fence'>): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select from heartbeat_runs r
    where r.id = ${lease.run_id} and r.fence = ${lease.fence} and ${hasStatus('running')} for no key update`);
  return rows.length > 0;
}

function text(value: string | null | undefined): string | null {
  return value === null || value === undefined ? null : storableText(value);
}

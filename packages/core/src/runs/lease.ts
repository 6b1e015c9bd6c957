import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { storableJson } from './storable.ts';
import { storableText } from '@acp/kernel';
import type { LeaseRenewal, RunAction, RunLease } from './types.ts';

/**
 * Prolongs what the process still holds, by the database's clock; one statement for all its runs. A lease that has
 * lapsed unswept is prolonged too: only a sweep ends a run's right to write, so that a database away for longer than
 * a lease costs no runs.
 */
export async function renewLeases(
  tx: Tx,
  claimed_by: string,
  leases: readonly Pick<RunLease, 'run_id' | 'fence'>[],
  lease_sec: number,
): Promise<LeaseRenewal> {
  if (leases.length === 0) return { held: [], lost: [] };
  const named = leases.map(({ run_id, fence }) => ({ run_id, fence }));
  // Locked in the order of the ids: two statements over the same rows can't wait for each other.
  const { rows } = await tx.execute<{ run_id: string; cancel_requested: boolean }>(sql`
    with lease as materialized (
      select r.id from heartbeat_runs r
      join jsonb_to_recordset(${JSON.stringify(named)}::jsonb) as l(run_id uuid, fence bigint)
        on r.id = l.run_id and r.fence = l.fence
      where r.status = 'running' and r.claimed_by = ${claimed_by}
      order by r.id for no key update of r
    )
    update heartbeat_runs r set lease_expires_at = clock_timestamp() + make_interval(secs => ${lease_sec})
    from lease where r.id = lease.id
    returning r.id as run_id, r.cancel_requested_at is not null as cancel_requested`);
  const held = new Set(rows.map(({ run_id }) => run_id));
  return { held: rows, lost: named.map(({ run_id }) => run_id).filter((id) => !held.has(id)) };
}

/**
 * Last statement of a verb's transaction: the row that proves the verb applied, and the check that the run is still
 * ours. Its lock holds off a sweep until the commit, so that a swept run has no verb the sweep did not see.
 * @returns false when the fence is lost or the ordinal is recorded already: then the caller rolls back.
 */
export async function recordAction(tx: Tx, lease: RunLease, action: RunAction): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    insert into run_actions (run_id, ordinal, verb, args, mutating, ok, result, error)
    select r.id, ${action.ordinal}, ${action.verb}, ${storableJson(action.args)}::jsonb, ${action.mutating},
      ${action.ok}, ${text(action.result)}, ${text(action.error)}
    from heartbeat_runs r
    where r.id = ${lease.run_id} and r.fence = ${lease.fence} and r.status = 'running' for no key update
    on conflict (run_id, ordinal) do nothing
    returning run_id`);
  return rows.length > 0;
}

/**
 * The same check for what a run writes beside its verbs: last statement of the transaction, behind the agent's lock.
 * @returns false when the fence is lost: then the caller rolls back.
 */
export async function lockRun(tx: Tx, lease: RunLease): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select from heartbeat_runs r
    where r.id = ${lease.run_id} and r.fence = ${lease.fence} and r.status = 'running' for no key update`);
  return rows.length > 0;
}

function text(value: string | null | undefined): string | null {
  return value === null || value === undefined ? null : storableText(value);
}

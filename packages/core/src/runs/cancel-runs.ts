import type { Actor, Run } from '@acp/contract';
import { type Tx, signal, liveRunStatuses } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { conflict } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { enqueueWaitingWork } from './end-run.ts';
import { presentRun } from './present.ts';
import { runRow } from './rows.ts';
import { endedChange, runChange } from './run-changes.ts';
import { transcriptSignal } from './run-events.ts';
import { runKind } from './run-kinds.ts';
import type { RunRow } from './types.ts';

/**
 * Cancels a queued run immediately. For a running one cancellation is requested: its scheduler is notified and ends it or, if
 * that scheduler has died, the sweep does. Repeating the request changes nothing. However it goes on, the run ends `cancelled`.
 * @throws conflict if the run has ended
 */
export async function cancelRun(tx: Tx, actor: Actor, run: { id: string }): Promise<Run> {
  const [row] = await cancelWhere(tx, sql`r.id = ${run.id}`, `cancelled by ${actor.name}`);
  if (row === undefined) throw conflict('run has already ended');
  const changes = cancelChanges(tx, [row]);
  if (row.status === 'cancelled') {
    await runKind(row.kind).cancelQueued?.(tx, [row]);
    await enqueueWaitingWork(tx, row, null);
  }
  await recordChanges(tx, actor, changes);
  return presentRun(row, actor);
}

/**
 * Cancels all live runs of something deleted and dispatches those of their agents that can continue.
 * @param which condition on the run `r`
 * @returns changes for the caller's `recordChanges`
 */
export async function cancelRuns(tx: Tx, which: SQL, reason: string): Promise<Change[]> {
  const rows = await cancelWhere(tx, which, reason);
  const unbegun = rows.filter(({ status }) => status === 'cancelled');
  for (const [name, runs] of Map.groupBy(unbegun, ({ kind }) => kind))
    await runKind(name).cancelQueued?.(tx, runs);
  const freed = new Set(unbegun.map(({ agent_id }) => agent_id));
  await enqueueMany(
    tx,
    'dispatch-agent',
    [...freed].map((agent_id) => ({ agent_id })),
  );
  return cancelChanges(tx, rows);
}

/** For what has to come before `cancelRuns`, but locks what claims lock after their runs. @param which condition on the run `r` */
export async function lockLiveRuns(tx: Tx, which: SQL): Promise<void> {
  await tx.execute(lockedLive(which));
}

/** In id order, like the renewal of leases locks them. */
const lockedLive = (which: SQL): SQL => sql`
  select r.id from heartbeat_runs r
  where ${which} and r.status in ${liveRunStatuses} order by r.id for no key update`;

/** @param which condition on the run `r` */
async function cancelWhere(tx: Tx, which: SQL, reason: string): Promise<RunRow[]> {
  const { rows } = await tx.execute(sql`
    with live as materialized (${lockedLive(which)}
    ), called_off as (
      update heartbeat_runs r set
        cancel_requested_at = coalesce(r.cancel_requested_at, now()),
        status = case r.status when 'queued' then 'cancelled' else r.status end,
        finished_at = case r.status when 'queued' then now() end,
        error = case r.status when 'queued' then ${reason} else r.error end
      from live where r.id = live.id
      returning r.*
    ), ending as (
      insert into run_events (run_id, seq, kind, payload, part)
      select id, 1, 'status', '{"status": "cancelled"}', transcript_part from called_off where status = 'cancelled'
    )
    select * from called_off`);
  return rows.map(runRow);
}

function cancelChanges(tx: Tx, rows: readonly RunRow[]): Change[] {
  return rows.map((row) => {
    if (row.status === 'cancelled') {
      // The run had not begun, so this is its entire transcript.
      signal(tx, 'transcripts', transcriptSignal(row, 1, 1));
      return endedChange(row);
    }
    signal(tx, 'control', row.id);
    return runChange(row, 'run.cancel_requested');
  });
}

import { type Tx, liveRunStatuses, wakeableAgentStatuses } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { systemActor } from '../activity/index.ts';
import { dueHeartbeats } from '../agents/index.ts';
import { runsPaused } from '../settings/index.ts';
import { requestWakeups } from './request-wakeups.ts';

/**
 * One step of the heartbeat timer: wakes up to `limit` due agents. One statement if there are none, otherwise three.
 * @returns how many were due; if that is `limit`, call again immediately.
 */
export async function startDueHeartbeats(tx: Tx, limit: number): Promise<number> {
  const due = await dueHeartbeats(tx, limit);
  await requestWakeups(
    tx,
    systemActor('heartbeat timer'),
    due.map((each) => ({ ...each, issue_id: null, reason: 'schedule' })),
  );
  return due.length;
}

/**
 * Recovers lost `dispatch-agent` jobs: wakeable agents with something pending for more than a minute get another one. Skipped is
 * what the end of a run will dispatch: agents at their limit, issues with a live run. The rest is taken in random order, so that
 * none is starved by others that can't be admitted either.
 * @param waited_sec 0 if jobs are known to be lost: after the death of a scheduler or a connection.
 * @returns how many agents were dispatched again.
 */
export async function sweepWakeups(tx: Tx, limit = 500, waited_sec = 60): Promise<number> {
  if (await runsPaused(tx)) return 0;
  const { rows } = await tx.execute<{ agent_id: string }>(sql`
    select agent_id from (
      select distinct wakeup.agent_id
      from wakeup_requests wakeup
      join agents on agents.id = wakeup.agent_id and agents.deleted_at is null
        and agents.status in ${wakeableAgentStatuses}
      join companies on companies.id = agents.company_id and companies.deleted_at is null
      where wakeup.status = 'pending' and wakeup.run_id is null
        and wakeup.created_at < now() - make_interval(secs => ${waited_sec})
        and (select count(*) from heartbeat_runs run where run.agent_id = agents.id and run.status in ${liveRunStatuses})
          < agents.max_concurrent_runs
        and (wakeup.issue_id is null or not exists (
          select from heartbeat_runs run where run.issue_id = wakeup.issue_id and run.status in ${liveRunStatuses}))
    ) stuck order by random() limit ${limit}`);
  await enqueueMany(tx, 'dispatch-agent', rows);
  return rows.length;
}

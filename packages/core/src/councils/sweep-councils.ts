import { liveRunStatuses, type Tx, wakeableAgentStatuses } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { budgetHeld } from '../agents/index.ts';
import { scopesOfRun } from '../budgets/index.ts';
import { cancelRuns } from '../runs/index.ts';
import { COUNCIL_TURN } from './turn-proposal.ts';

const scheduler = systemActor('scheduler');

const MOST = 200;

/**
 * Cancels turns that can't start, because their agent was paused or a budget was exceeded, or that did not start within half
 * an hour, and advances councils whose job was lost or whose issue is over. @returns how many councils
 */
export async function sweepCouncils(tx: Tx): Promise<number> {
  const waiting = sql`r.kind = ${COUNCIL_TURN} and r.status = 'queued'`;
  const late = sql`${waiting} and r.created_at < now() - interval '30 minutes'`;
  const held = sql`${waiting} and (${budgetHeld(scopesOfRun('r'))} or not exists (
    select from agents a where a.id = r.agent_id and a.deleted_at is null and a.status in ${wakeableAgentStatuses}))`;
  await recordChanges(tx, scheduler, [
    ...(await cancelRuns(tx, late, 'its turn did not begin in time')),
    ...(await cancelRuns(tx, held, 'the agent may not run now')),
  ]);
  const { rows } = await tx.execute<{ session_id: string }>(sql`
    select s.id as session_id from council_sessions s left join issues i on i.id = s.issue_id
    where s.status = 'running' and s.created_at < now() - interval '30 seconds' and (
      i.id is null or i.deleted_at is not null or i.status in ('done', 'cancelled')
      or not exists (select from heartbeat_runs r where r.subject_id = s.id and r.kind = ${COUNCIL_TURN} and r.status in ${liveRunStatuses}))
    limit ${MOST}`);
  await enqueueMany(tx, 'advance-council', rows);
  return rows.length;
}

import { liveRunStatuses, type Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { BUDGET_EXCEEDED, budgetHeld } from '../agents/index.ts';
import { scopesOfRun } from '../budgets/index.ts';
import { cancelRuns } from '../runs/index.ts';
import { LONGEST, TOO_LONG } from './advance-evolution.ts';
import { EVOLUTION_STEP } from './step-proposal.ts';

const MOST = 200;

/**
 * Cancels steps that can't start, because a budget was exceeded or it took too long, and advances evolutions whose job was lost
 * or that were held up, recognised by having no step in progress. @returns how many
 */
export async function sweepEvolutions(tx: Tx): Promise<number> {
  const waiting = sql`r.kind = ${EVOLUTION_STEP} and r.status = 'queued'`;
  const late = sql`${waiting} and exists (select from prompt_evolutions e
    where e.id = r.subject_id and e.created_at < now() - ${LONGEST})`;
  await recordChanges(tx, systemActor('scheduler'), [
    ...(await cancelRuns(tx, sql`${waiting} and ${budgetHeld(scopesOfRun('r'))}`, BUDGET_EXCEEDED)),
    ...(await cancelRuns(tx, late, TOO_LONG)),
  ]);
  const { rows } = await tx.execute<{ evolution_id: string }>(sql`
    select e.id as evolution_id from prompt_evolutions e
    where e.status = 'running' and e.created_at < now() - interval '15 seconds'
      and not exists (select from heartbeat_runs r
        where r.subject_id = e.id and r.kind = ${EVOLUTION_STEP} and r.status in ${liveRunStatuses})
    order by e.created_at limit ${MOST}`);
  await enqueueMany(tx, 'advance-evolution', rows);
  return rows.length;
}

/** Subjects that advance by runs of one kind, step by step: what holds for all of them when a step can't start or a job was lost. */
import { liveRunStatuses, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { BUDGET_EXCEEDED, budgetHeld } from '../agents/index.ts';
import { scopesOfRun } from '../budgets/index.ts';
import { cancelRuns } from './cancel-runs.ts';

/** How long a subject waits for paused agents and providers without quota. */
export const LONGEST_WAIT = sql`interval '2 days'`;
export const WAITED_TOO_LONG = 'it took more than two days';

const MOST = 200;
/** A step is normally requested at once; after this long its job may be lost. */
const LOST = sql`interval '15 seconds'`;

/**
 * Cancels queued steps that can't start, because a budget is exceeded or it took too long.
 * @param running the status of a subject that is in progress
 * @returns ids of subjects in progress without a step: their job was lost, or they were held up
 */
export async function sweepSubjects(
  tx: Tx,
  { kind, table, running }: { kind: string; table: SQL; running: string },
): Promise<string[]> {
  const waiting = sql`r.kind = ${kind} and r.status = 'queued'`;
  const late = sql`${waiting} and exists (select from ${table} s
    where s.id = r.subject_id and s.created_at < now() - ${LONGEST_WAIT})`;
  const cancelled: Change[] = [
    ...(await cancelRuns(tx, sql`${waiting} and ${budgetHeld(scopesOfRun('r'))}`, BUDGET_EXCEEDED)),
    ...(await cancelRuns(tx, late, WAITED_TOO_LONG)),
  ];
  await recordChanges(tx, systemActor('scheduler'), cancelled);
  const { rows } = await tx.execute<{ id: string }>(sql`
    select s.id from ${table} s
    where s.status = ${running} and s.created_at < now() - ${LOST}
      and not exists (select from heartbeat_runs r
        where r.subject_id = s.id and r.kind = ${kind} and r.status in ${liveRunStatuses})
    order by s.created_at limit ${MOST}`);
  return rows.map(({ id }) => id);
}

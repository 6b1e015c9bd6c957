/** What a routine may refer to, and who may let it. */
import { type Actor, permits } from '@acp/contract';
import type { Tx } from '@acp/db';
import { forbidden, invalid } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { inNoTrash } from '../trash/index.ts';

export interface RoutineReferences {
  assignee_agent_id?: string | null;
  project_id?: string | null;
  goal_id?: string | null;
}

/**
 * A routine assigns issues whenever it fires: an agent that may not assign may not have a routine do it either.
 * Absent, trashed and another company's are alike. One statement where anything is named at all.
 * @throws forbidden, invalid naming the field
 */
export async function assertReferences(
  tx: Tx,
  actor: Actor,
  company_id: string,
  named: RoutineReferences,
): Promise<void> {
  const { assignee_agent_id: assignee, project_id: project, goal_id: goal } = named;
  if (assignee && actor.kind === 'agent' && !permits(actor.permissions, 'issues.assign'))
    throw forbidden('permission issues.assign is off');
  if (!assignee && !project && !goal) return;
  const known = (id: string | null | undefined, table: SQL, condition = sql`n.deleted_at is null`) =>
    id
      ? sql`exists (select from ${table} n where n.id = ${id} and n.company_id = ${company_id} and ${condition})`
      : sql`true`;
  const { rows } = await tx.execute<{ agent: boolean; project: boolean; goal: boolean }>(sql`
    select ${known(assignee, sql`agents`)} as agent, ${known(project, sql`projects`)} as project,
      ${known(goal, sql`goals`, inNoTrash('goals', 'n'))} as goal`);
  if (!rows[0]?.agent) throw invalid('assignee_agent_id: unknown agent');
  if (!rows[0].project) throw invalid('project_id: unknown project');
  if (!rows[0].goal) throw invalid('goal_id: unknown goal');
}

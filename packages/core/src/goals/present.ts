import type { Goal } from '@acp/contract';
import { schema } from '@acp/db';
import { shownColumns } from '../trash/index.ts';

export type GoalRow = typeof schema.goals.$inferSelect;

/** As shown to clients: references to trashed entities are null. */
export const goalColumns = shownColumns(schema.goals);

export function presentGoal(row: GoalRow): Goal {
  return {
    id: row.id,
    company_id: row.company_id,
    parent_goal_id: row.parent_goal_id,
    title: row.title,
    description: row.description,
    level: row.level as Goal['level'],
    status: row.status as Goal['status'],
    owner_agent_id: row.owner_agent_id,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

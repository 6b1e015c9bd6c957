import { commaList, type Goal, goalStatuses, type ListByStatus } from '@acp/contract';
import { byCreation, containing, newestFirst, type Page, schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, desc, eq, inArray, type SQL } from 'drizzle-orm';
import { ofLiveCompany } from '../companies/index.ts';
import { inNoTrash } from '../trash/index.ts';
import { type GoalRow, presentGoal, goalColumns } from './present.ts';

const { companies, goals } = schema;

const present: SQL = inNoTrash('goals');

/** Also undefined for another company's goal and a trashed one. */
export async function findCompanyGoal(
  tx: Tx,
  company_id: string,
  goal_id: string,
): Promise<GoalRow | undefined> {
  const row = await findGoal(tx, goal_id);
  return row?.company_id === company_id ? row : undefined;
}

/** Loads a goal for its scope; also undefined if it or an ancestor is in the trash. */
export async function findGoal(tx: Tx, goal_id: string): Promise<GoalRow | undefined> {
  if (!isUuid(goal_id)) return undefined;
  const [row] = await tx
    .select(goalColumns)
    .from(goals)
    .innerJoin(companies, ofLiveCompany(goals.company_id))
    .where(and(eq(goals.id, goal_id), present));
  return row;
}

/** Newest first, 50 a page. @throws invalid for an unknown status */
export async function listGoals(tx: Tx, company_id: string, query: ListByStatus): Promise<Page<Goal>> {
  const statuses = commaList(query.status, goalStatuses, 'status');
  const page = newestFirst(goals.created_at, goals.id, query, 50);
  const rows = tx
    .select(goalColumns)
    .from(goals)
    .where(
      and(
        eq(goals.company_id, company_id),
        present,
        statuses === undefined ? undefined : inArray(goals.status, statuses),
        containing(query.q, [goals.title]),
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentGoal);
}

/** The goals right below one, newest first. */
export async function partsOfGoal(tx: Tx, { id, company_id }: GoalRow): Promise<Goal[]> {
  const rows = await tx
    .select(goalColumns)
    .from(goals)
    .where(and(eq(goals.company_id, company_id), eq(goals.parent_goal_id, id), present))
    .orderBy(desc(goals.created_at), desc(goals.id));
  return rows.map(presentGoal);
}

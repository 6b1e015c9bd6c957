import { rowsOf, schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { assertRoom } from '../bounds/index.ts';

const { goals } = schema;

export interface NewGoal {
  id: string;
  title: string;
  description: string | null;
  level: string;
  status: string;
  parent_goal_id: string | null;
  owner_agent_id: string | null;
}

/** Inserts a list for an import, which has checked that it is a tree, and its references. */
export async function insertGoals(tx: Tx, company_id: string, rows: readonly NewGoal[]): Promise<void> {
  if (rows.length === 0) return;
  await assertRoom(tx, 'goals', company_id, rows.length);
  const values = rows.map((row) => ({ ...row, company_id }));
  await tx.execute(sql`insert into goals ${rowsOf(goals, values)}`);
}

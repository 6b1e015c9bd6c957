import type { Database } from '@acp/db';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Pool, QueryConfig } from 'pg';

/** A step of a plan that was executed, as PostgreSQL describes it. */
export interface PlanStep {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Subplan Name'?: string;
  Plans?: PlanStep[];
}

/** How PostgreSQL executes the statements of some reading, each of which it executes once more. */
export async function plansOf(
  { pool }: Database,
  read: (db: Database['db']) => Promise<unknown>,
): Promise<PlanStep[]> {
  const sent: { text: string; values: unknown[] }[] = [];
  const query = async (statement: QueryConfig, values: unknown[] = []) => {
    sent.push({ text: statement.text, values });
    return pool.query(statement, values);
  };
  await read(drizzle({ client: { query } as unknown as Pool }));
  if (sent.length === 0) throw new Error('no statement was sent');
  const plans: PlanStep[] = [];
  for (const { text, values } of sent) {
    const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: PlanStep }] }>(
      `explain (analyze, buffers, format json) ${text}`,
      values,
    );
    plans.push(rows[0]!['QUERY PLAN'][0].Plan);
  }
  return plans;
}

/** The step and all that it consists of. */
export const stepsOf = (plan: PlanStep): PlanStep[] => [plan, ...(plan.Plans ?? []).flatMap(stepsOf)];

/**
 * How many pages of tables and indexes PostgreSQL reads for the statements of some reading. It is the same on every machine, while a
 * time is not.
 */
export async function pagesRead(
  database: Database,
  read: (db: Database['db']) => Promise<unknown>,
): Promise<number> {
  const plans = await plansOf(database, read);
  return plans.reduce((sum, plan) => sum + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], 0);
}

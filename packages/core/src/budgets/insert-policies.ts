import { rowsOf, schema, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { assertRoom } from '../bounds/index.ts';
import { openIncidents } from './open-incidents.ts';
import { money } from './policies.ts';
import { ensureWindows } from './windows.ts';

const { budget_policies } = schema;

export interface NewPolicy {
  id: string;
  scope_type: string;
  scope_id: string;
  window: string;
  limit_usd: number;
  warn_percent: number;
  action: string;
  enabled: boolean;
}

/** Inserts a list for an import. What has been spent in the current windows counts immediately. */
export async function insertPolicies(tx: Tx, company_id: string, list: readonly NewPolicy[]): Promise<void> {
  if (list.length === 0) return;
  await assertRoom(tx, 'budget_policies', company_id, list.length);
  const values = list.map((row) => ({ ...row, limit_usd: money(row.limit_usd), company_id }));
  await tx.execute(sql`insert into budget_policies ${rowsOf(budget_policies, values)}`);
  const ids = list.map(({ id }) => id);
  const these = sql`p.id in ${ids}`;
  await ensureWindows(tx, these);
  await openIncidents(tx, these);
}

import type { BudgetPolicy } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { and, desc, eq, inArray, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { budgetWindowStart } from '../agents/index.ts';
import { presentPolicy } from './present.ts';
import { breachWaived } from './windows.ts';

const { budget_policies, budget_windows } = schema;

/** A policy as shown to people, with its usage in the current window. */
export interface BudgetUsage {
  policy: BudgetPolicy;
  /** Name of the company, project or agent; null if it was deleted for good. */
  scope_name: string | null;
  window_start: Date;
  /** Exclusive; null for a lifetime. */
  window_end: Date | null;
  /** Settled in this window. For a disabled policy: until it was disabled. */
  spent_usd: number;
  /** Additional possible cost of calls in progress. */
  reserved_usd: number;
  /** A person allowed this window to exceed its limit. */
  waived: boolean;
}

/** Alias for the policy in columns and shared fragments. */
const p = alias(budget_policies, 'p');

const scopeName = sql<string | null>`(case p.scope_type
  when 'agent' then (select a.name from agents a where a.id = p.scope_id)
  when 'project' then (select x.name from projects x where x.id = p.scope_id)
  else (select c.name from companies c where c.id = p.scope_id) end)`;

const windowEnd = sql<string | null>`(case when p."window" <> 'lifetime' then
  (${budgetWindowStart} at time zone 'UTC' + ('1 ' || p."window")::interval) at time zone 'UTC' end)`;

/**
 * The company's policies, newest first, in one statement. A missing window has no spending yet, since spending creates it.
 * @param of these policies, or all that apply directly to these scopes
 */
export async function budgetUsage(
  tx: Tx,
  company_id: string,
  of: { policy_ids: readonly string[] } | { scope_ids: readonly string[] },
): Promise<BudgetUsage[]> {
  const [column, ids] = 'policy_ids' in of ? [p.id, of.policy_ids] : [p.scope_id, of.scope_ids];
  if (ids.length === 0) return [];
  const rows = await tx
    .select({
      policy: p,
      scope_name: scopeName,
      window_start: sql<string>`${budgetWindowStart}`,
      window_end: windowEnd,
      spent_usd: budget_windows.spent_usd,
      reserved_usd: budget_windows.reserved_usd,
      waived: sql<boolean>`${breachWaived}`,
    })
    .from(p)
    .leftJoin(
      budget_windows,
      and(eq(budget_windows.policy_id, p.id), eq(budget_windows.window_start, budgetWindowStart)),
    )
    .where(and(eq(p.company_id, company_id), inArray(column, [...new Set(ids)])))
    .orderBy(desc(p.created_at), desc(p.id));
  return rows.map(({ policy, scope_name, window_start, window_end, spent_usd, reserved_usd, waived }) => ({
    policy: presentPolicy(policy),
    scope_name,
    window_start: new Date(window_start),
    window_end: window_end === null ? null : new Date(window_end),
    spent_usd: Number(spent_usd ?? 0),
    reserved_usd: Number(reserved_usd ?? 0),
    waived,
  }));
}

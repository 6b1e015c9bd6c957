import type { BudgetPolicy } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { and, desc, eq, inArray, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { budgetWindowStart } from '../agents/index.ts';
import { presentPolicy } from './present.ts';
import { breachWaived } from './windows.ts';

const { budget_policies, budget_windows } = schema;

/** A policy as people look at it: with what its present window has used up. */
export interface BudgetUsage {
  policy: BudgetPolicy;
  /** Of the company, the project or the agent; null for what is gone for good. */
  scope_name: string | null;
  window_start: Date;
  /** Exclusive; null for a lifetime. */
  window_end: Date | null;
  /** Settled in the window. Of a policy that is switched off: until then. */
  spent_usd: number;
  /** What calls under way may cost beside that. */
  reserved_usd: number;
  /** A human let this window go on beyond its limit. */
  waived: boolean;
}

/** The columns' and the shared fragments' name for the policy. */
const p = alias(budget_policies, 'p');

const scopeName = sql<string | null>`(case p.scope_type
  when 'agent' then (select a.name from agents a where a.id = p.scope_id)
  when 'project' then (select x.name from projects x where x.id = p.scope_id)
  else (select c.name from companies c where c.id = p.scope_id) end)`;

const windowEnd = sql<string | null>`(case when p."window" <> 'lifetime' then
  (${budgetWindowStart} at time zone 'UTC' + ('1 ' || p."window")::interval) at time zone 'UTC' end)`;

/**
 * Policies of the company, newest first, in one statement. A window that is missing has spent nothing yet: whoever
 * spends makes it first.
 * @param of these policies, or all that bound these scopes themselves
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

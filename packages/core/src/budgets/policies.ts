import type { Actor, BudgetPolicy, CreateBudgetPolicy, UpdateBudgetPolicy } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { invalid, notFound, stated } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { findAgent } from '../agents/index.ts';
import { findInLiveCompany } from '../companies/index.ts';
import { findCompanyProject } from '../projects/index.ts';
import { openIncidents, resolveUntrue, settleLater } from './open-incidents.ts';
import { type PolicyRow, presentPolicy } from './present.ts';
import { ensureWindows, deleteOldWindows } from './windows.ts';

const { budget_policies } = schema;

export async function findBudgetPolicy(tx: Tx, id: string): Promise<PolicyRow | undefined> {
  return findInLiveCompany(tx, budget_policies, id);
}

/** Newest first. */
export async function listBudgetPolicies(
  tx: Tx,
  company_id: string,
  page: PageRequest = {},
): Promise<Page<BudgetPolicy>> {
  const plan = newestFirst(budget_policies.created_at, budget_policies.id, page, 50);
  const rows = tx
    .select()
    .from(budget_policies)
    .where(and(eq(budget_policies.company_id, company_id), plan.where))
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, byCreation, presentPolicy);
}

/** What has been spent in the current window counts immediately. @throws invalid for a scope outside the company */
export async function createBudgetPolicy(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateBudgetPolicy,
): Promise<BudgetPolicy> {
  const scope_id = await scopeOf(tx, company_id, input);
  await assertRoom(tx, 'budget_policies', company_id);
  const [row] = await tx
    .insert(budget_policies)
    .values({
      company_id,
      scope_type: input.scope_type,
      scope_id,
      window: input.window,
      limit_usd: money(input.limit_usd),
      warn_percent: input.warn_percent,
      action: input.action ?? 'notify',
      enabled: input.enabled,
    })
    .returning();
  const this_policy = sql`p.id = ${row!.id}`;
  await ensureWindows(tx, this_policy);
  await openIncidents(tx, this_policy);
  await recordChanges(tx, actor, [policyChange(row!, 'created')]);
  return presentPolicy(row!);
}

/** Incidents that the change makes untrue are resolved; those that it causes are opened. */
export async function updateBudgetPolicy(
  tx: Tx,
  actor: Actor,
  subject: PolicyRow,
  input: UpdateBudgetPolicy,
): Promise<BudgetPolicy> {
  // The scope's row may be outdated: what was spent while the policy was disabled must not be missed.
  const mine = eq(budget_policies.id, subject.id);
  const [policy] = await tx.select().from(budget_policies).where(mine).for('no key update');
  if (policy === undefined) throw notFound();
  const { limit_usd, ...rest } = input;
  const [changed] = await tx
    .update(budget_policies)
    .set({
      ...known(rest),
      ...(limit_usd === undefined ? {} : { limit_usd: money(limit_usd) }),
      updated_at: sql`now()`,
    })
    .where(mine)
    .returning();
  const row = changed!;
  // Spending in the meantime is in none of its windows.
  if (row.window !== policy.window || (row.enabled && !policy.enabled)) await deleteOldWindows(tx, row.id);
  await ensureWindows(tx, sql`p.id = ${row.id}`);
  await resolveUntrue(tx, actor, sql`p.id = ${row.id}`, stated('the policy was changed'));
  await openIncidents(tx, sql`p.id = ${row.id}`);
  await settleLater(tx, [row]);
  await recordChanges(tx, actor, [policyChange(row, 'updated')]);
  return presentPolicy(row);
}

/** Permanent, including its incidents. Whatever only this policy blocked continues. */
export async function deleteBudgetPolicy(tx: Tx, actor: Actor, policy: PolicyRow): Promise<void> {
  const [row] = await tx.delete(budget_policies).where(eq(budget_policies.id, policy.id)).returning();
  if (row === undefined) throw notFound();
  await settleLater(tx, [row]);
  await recordChanges(tx, actor, [policyChange(row, 'deleted')]);
}

/** Decimal text with the column's eight decimals: removes exponents and float noise. */
export function money(usd: number): string {
  return usd.toFixed(8);
}

async function scopeOf(tx: Tx, company_id: string, input: CreateBudgetPolicy): Promise<string> {
  const { scope_type, scope_id = company_id } = input;
  if (scope_type === 'company') {
    if (scope_id !== company_id) throw invalid('scope_id is not the company');
  } else if (scope_type === 'project') {
    if (!(await findCompanyProject(tx, company_id, scope_id)))
      throw invalid('scope_id is not a project of the company');
  } else if ((await findAgent(tx, scope_id))?.company_id !== company_id) {
    throw invalid('scope_id is not an agent of the company');
  }
  return scope_id;
}

function known({ window, warn_percent, action, enabled }: UpdateBudgetPolicy): Partial<PolicyRow> {
  const given = Object.entries({ window, warn_percent, action, enabled });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

function policyChange(row: PolicyRow, act: string): Change {
  const { scope_type, scope_id, window, action, enabled } = row;
  return {
    company_id: row.company_id,
    action: `budget_policy.${act}`,
    entity_type: 'budget_policy',
    entity_id: row.id,
    details: { scope_type, scope_id, window, limit_usd: Number(row.limit_usd), action, enabled },
  };
}

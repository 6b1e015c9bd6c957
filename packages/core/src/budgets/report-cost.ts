import type { Actor, CostEvent, CreateCostEvent } from '@acp/contract';
import { databaseNow, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { forbidden, invalid } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { budgetHeld, findAgent } from '../agents/index.ts';
import { findIssue } from '../issues/index.ts';
import { findCompanyProject } from '../projects/index.ts';
import { chargeCost } from './charge.ts';
import type { RunCost } from './cost-events.ts';
import { money } from './policies.ts';
import { presentCostEvent } from './present.ts';
import { ancestorsOf } from './run-scopes.ts';

const { cost_events } = schema;

/** Newest first. */
export async function listCostEvents(
  tx: Tx,
  company_id: string,
  page: PageRequest = {},
): Promise<Page<CostEvent>> {
  const plan = newestFirst(cost_events.occurred_at, cost_events.id, page, 50);
  const rows = tx
    .select()
    .from(cost_events)
    .where(and(eq(cost_events.company_id, company_id), plan.where))
    .orderBy(...plan.order)
    .limit(plan.limit);
  return plan.read(tx, rows, ({ occurred_at, id }) => ({ at: occurred_at, id }), presentCostEvent);
}

/**
 * Records spending that the service did not see itself. It counts towards budgets immediately and may breach them. An agent can
 * only report its own; otherwise it could use up another's budget.
 * @throws forbidden, invalid for references outside of the company
 */
export async function reportCost(
  tx: Tx,
  actor: Actor,
  company_id: string,
  input: CreateCostEvent,
): Promise<CostEvent> {
  const own = actor.kind === 'agent' ? actor.agent_id : null;
  const agent_id = input.agent_id ?? own;
  if (own !== null && agent_id !== own) throw forbidden('an agent reports its own costs');
  const { issue_id, project_id } = await references(tx, company_id, { ...input, agent_id });
  const cost_usd = money(input.cost_usd);
  const occurred_at = await parseOccurredAt(tx, input.occurred_at);
  await chargeCost(tx, { company_id, agent_id, project_id, at: occurred_at }, cost_usd);
  const [row] = await tx
    .insert(cost_events)
    .values({
      company_id,
      agent_id,
      rolled_up_to: sql`${ancestorsOf(sql`${agent_id}::uuid`)}`,
      issue_id,
      project_id,
      provider: input.provider,
      model: input.model,
      input_tokens: input.input_tokens ?? 0,
      output_tokens: input.output_tokens ?? 0,
      cached_tokens: input.cached_tokens ?? 0,
      cost_usd,
      ...(occurred_at !== null && { occurred_at }),
    })
    .returning();
  const details = { cost_usd: input.cost_usd, provider: row!.provider, model: row!.model };
  await recordChanges(tx, actor, [
    { company_id, action: 'cost.reported', entity_type: 'cost_event', entity_id: row!.id, details },
  ]);
  return presentCostEvent(row!);
}

/** Records what the service spends for a company apart from runs; it only counts towards the company's own budgets. */
export async function recordServiceCost(tx: Tx, company_id: string, cost: RunCost): Promise<void> {
  await chargeCost(tx, { company_id, agent_id: null, project_id: null }, cost.cost_usd);
  await tx.insert(cost_events).values({ company_id, ...cost });
}

/** Whether a pausing budget for the whole company is used up. */
export async function isCompanyOverBudget(tx: Tx, company_id: string): Promise<boolean> {
  const { rows } = await tx.execute<{ over: boolean }>(
    sql`select ${budgetHeld(sql`array[${company_id}::uuid]`)} as over`,
  );
  return rows[0]?.over === true;
}

const OLDEST_DAYS = 90;

/** Checked against the database's clock. @throws invalid for a time in the future, or too far back */
async function parseOccurredAt(tx: Tx, given: Date | string | null | undefined): Promise<Date | null> {
  if (given === null || given === undefined) return null;
  const at = new Date(given);
  const now = await databaseNow(tx);
  if (at > now) throw invalid('occurred_at is in the future');
  if (at.getTime() < now.getTime() - OLDEST_DAYS * 86_400_000)
    throw invalid(`occurred_at is more than ${OLDEST_DAYS} days ago`);
  return at;
}

/** An issue implies its project. */
async function references(
  tx: Tx,
  company_id: string,
  { agent_id, issue_id, project_id }: Pick<CreateCostEvent, 'agent_id' | 'issue_id' | 'project_id'>,
): Promise<{ issue_id: string | null; project_id: string | null }> {
  if (agent_id && (await findAgent(tx, agent_id))?.company_id !== company_id)
    throw invalid('agent_id is not an agent of the company');
  if (project_id && !(await findCompanyProject(tx, company_id, project_id)))
    throw invalid('project_id is not a project of the company');
  if (!issue_id) return { issue_id: null, project_id: project_id ?? null };
  const issue = await findIssue(tx, issue_id);
  if (issue?.company_id !== company_id) throw invalid('issue_id is not an issue of the company');
  return { issue_id, project_id: project_id ?? issue.project_id };
}

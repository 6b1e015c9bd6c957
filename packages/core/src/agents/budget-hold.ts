import { type Tx, schema } from '@acp/db';
import { conflict, stated } from '@acp/kernel';
import { and, asc, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { holdChange, released } from './held-agents.ts';
import { statusChange } from './note-run.ts';
import type { AgentRow } from './present.ts';
import { wakeableStatuses } from './status.ts';

const { agents } = schema;

/** The message named in the specification, for invokes and resumes alike (decisions 7.16). */
export const BUDGET_EXCEEDED = stated('budget exceeded');

/** Start of the current window of policy `p`: UTC, weeks from Monday, `lifetime` since forever (decisions 8.4). */
export const budgetWindowStart = sql`(case p."window" when 'lifetime' then timestamptz 'epoch'
  else date_trunc(p."window", now() at time zone 'UTC') at time zone 'UTC' end)`;

/**
 * Whether a breached `pause` policy blocks one of the scopes: an incident is open in the policy's current window. The single
 * definition for admission, claims, pauses and resumes.
 * @param scopes an array of company, project and agent ids; nulls match nothing. PostgreSQL looks each of them up, while it would
 * compare those of a select with all policies.
 */
export const budgetHeld = (scopes: SQL): SQL => sql`exists (select ${holding(scopes)})`;

/** The ids of the incidents that do so. */
export const holdingIncidentIds = (scopes: SQL): SQL => sql`(select b.id ${holding(scopes)})`;

const holding = (scopes: SQL): SQL => sql`from budget_policies p, budget_incidents b
    where b.policy_id = p.id and b.kind = 'breach' and b.status = 'open' and b.window_start = ${budgetWindowStart}
      and p.scope_id = any(${scopes}) and p.enabled and p.action = 'pause'`;

/** The scopes that limit an agent's spending wherever it works: itself, its company, and the agents that spawned it. */
export function scopesOfAgent(alias: string): SQL {
  const a = sql.identifier(alias);
  return sql`(array[${a}.id, ${a}.company_id] || ${a}.ancestor_ids)`;
}

/**
 * Whether an agent that was paused by a budget, or along with the agent that spawned it, may continue: no budget blocks it any more, and
 * no one above it is paused by hand. The single definition, whichever of the two pauses ended last.
 */
export function mayContinue(alias: string): SQL {
  const a = sql.identifier(alias);
  // Worded for two partial indexes: the sweep looks at the agents of all companies.
  const held = sql`(${a}.budget_paused or (${a}.parent_agent_id is not null and ${a}.paused_with_parent))`;
  return sql`(${held} and ${a}.status = 'paused' and not ${budgetHeld(scopesOfAgent(alias))}
    and not exists (select from agents up where up.id = any(${a}.ancestor_ids) and up.status = 'paused'
      and not up.budget_paused and not up.paused_with_parent))`;
}

/** @throws conflict while a budget blocks the agent: no one can resume it by hand. */
export async function assertNotBudgetHeld(tx: Tx, agent: AgentRow): Promise<void> {
  const { rows } = await tx.execute<{ held: boolean }>(
    sql`select ${budgetHeld(scopesOfAgent('a'))} as held from agents a where a.id = ${agent.id}`,
  );
  if (rows[0]?.held) throw conflict(BUDGET_EXCEEDED);
}

/**
 * Aligns the pauses of a scope's agents with its budgets as of the moment the agents are locked: wakeable agents are paused
 * while a budget blocks them, and are resumed when none does any more (`mayContinue`). Manually paused agents are left alone.
 * Idempotent.
 * @param of the company's agents, or one of them
 * @returns changes for the caller's `recordChanges`, and the resumed agents, which need to be dispatched
 */
export async function settleBudgetPauses(
  tx: Tx,
  of: { company_id: string; agent_id?: string },
): Promise<{ changes: Change[]; resumed: string[] }> {
  const which = and(
    eq(agents.company_id, of.company_id),
    of.agent_id === undefined ? undefined : eq(agents.id, of.agent_id),
    isNull(agents.deleted_at),
  );
  // A statement of its own: the decision needs a snapshot taken after the locks.
  await tx.select({ id: agents.id }).from(agents).where(which).orderBy(asc(agents.id)).for('no key update');
  const held = budgetHeld(scopesOfAgent('agents'));
  const paused = await tx
    .update(agents)
    .set({ status: 'paused', pause_reason: BUDGET_EXCEEDED, budget_paused: true, updated_at: sql`now()` })
    .where(and(which, inArray(agents.status, [...wakeableStatuses]), held))
    .returning();
  const resumed = await tx
    .update(agents)
    .set(released)
    .where(and(which, mayContinue('agents')))
    .returning();
  return {
    changes: [
      ...paused.map((row) => holdChange(row, 'agent.paused', BUDGET_EXCEEDED)),
      ...resumed.map((row) => holdChange(row, 'agent.resumed', BUDGET_EXCEEDED)),
    ],
    resumed: resumed.map(({ id }) => id),
  };
}

/**
 * An agent whose last run a budget cut off has no error any more once that budget has money again.
 * @param scopes those of the run `last`, for `budgetHeld`
 * @returns changes for the caller's `recordChanges`
 */
export async function clearBudgetErrors(tx: Tx, company_id: string, scopes: SQL): Promise<Change[]> {
  const { agent_runtime_states: states } = schema;
  const over = sql`not exists (
    select from (
      select r.* from heartbeat_runs r where r.agent_id = ${states.agent_id}
      order by r.created_at desc nulls last, r.id desc nulls last limit 1
    ) last where ${budgetHeld(scopes)})`;
  const cleared = await tx
    .update(states)
    .set({ last_error: null, updated_at: sql`now()` })
    .where(
      and(
        inArray(
          states.agent_id,
          tx.select({ id: agents.id }).from(agents).where(eq(agents.company_id, company_id)),
        ),
        eq(states.last_error, BUDGET_EXCEEDED),
        over,
      ),
    )
    .returning({ agent_id: states.agent_id });
  if (cleared.length === 0) return [];
  const ids = cleared.map(({ agent_id }) => agent_id);
  const idle = await tx
    .update(agents)
    .set({ status: 'idle', updated_at: sql`now()` })
    .where(and(inArray(agents.id, ids), eq(agents.status, 'error')))
    .returning();
  return idle.map(statusChange);
}

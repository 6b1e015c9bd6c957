/** Sub-agents do not continue while the agent that spawned them is paused. */
import { type Tx, schema } from '@acp/db';
import { conflict, notFound, said, saidText, stated } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import { and, asc, eq, inArray, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { assertNotBudgetHeld, mayContinue } from './budget-hold.ts';
import { holdChange, released } from './held-agents.ts';
import { agentColumns, type AgentRow } from './present.ts';
import { wakeableStatuses } from './status.ts';

const { agents } = schema;

const REASON = stated('the agent that spawned it is paused');

/** All descendants, trashed or not; the partial index on parents finds them. */
export const below = (agent_id: string): SQL =>
  sql`(${agents.parent_agent_id} is not null and ${agent_id}::uuid = any(${agents.ancestor_ids}))`;

/** @throws notFound. The current row: with the scope's copy, two concurrent changes could undo each other's checks. */
export async function lockAgent(tx: Tx, agent_id: string): Promise<AgentRow> {
  const [row] = await tx
    .select(agentColumns)
    .from(agents)
    .where(and(eq(agents.id, agent_id), isNull(agents.deleted_at)))
    .for('no key update');
  if (!row) throw notFound();
  return row;
}

/** Locks an agent and its descendants, for a change that these follow. */
export async function lockFamily(tx: Tx, agent_id: string): Promise<void> {
  await lockWith(tx, agent_id, below(agent_id));
}

/** Locks an agent along with others in order of id, like everything that locks several agents. */
export async function lockWith(tx: Tx, agent_id: string, others: SQL): Promise<void> {
  await tx
    .select({ id: agents.id })
    .from(agents)
    .where(or(eq(agents.id, agent_id), others))
    .orderBy(asc(agents.id))
    .for('no key update');
}

/**
 * Pauses wakeable descendants of an agent that the caller has locked with them (`lockFamily`).
 * @returns changes for the caller's `recordChanges`
 */
export async function pauseBelow(tx: Tx, agent_id: string): Promise<Change[]> {
  const rows = await tx
    .update(agents)
    .set({ status: 'paused', pause_reason: REASON, paused_with_parent: true, updated_at: sql`now()` })
    .where(and(below(agent_id), isNull(agents.deleted_at), inArray(agents.status, [...wakeableStatuses])))
    .returning();
  return rows.map((row) => holdChange(row, 'agent.paused', REASON));
}

/**
 * Resumes and dispatches descendants that only their ancestor's pause held back; locked like those.
 * @returns changes for the caller's `recordChanges`
 */
export async function resumeBelow(tx: Tx, agent_id: string): Promise<Change[]> {
  const rows = await tx
    .update(agents)
    .set(released)
    .where(and(below(agent_id), isNull(agents.deleted_at), mayContinue('agents')))
    .returning();
  await enqueueMany(
    tx,
    'dispatch-agent',
    rows.map((row) => ({ agent_id: row.id })),
  );
  return rows.map((row) => holdChange(row, 'agent.resumed', REASON));
}

/**
 * Checks whether a paused agent may be resumed by hand.
 * @throws conflict while a budget blocks it or an ancestor is paused: it is resumed along with that one
 */
export async function assertMayWake(tx: Tx, agent: AgentRow): Promise<void> {
  await assertNotBudgetHeld(tx, agent);
  const { ancestor_ids } = agent;
  if (ancestor_ids.length === 0) return;
  const paused = await tx
    .select({ name: agents.name })
    .from(agents)
    .where(and(inArray(agents.id, ancestor_ids), eq(agents.status, 'paused')))
    .limit(1);
  if (paused[0] !== undefined) throw conflict(said`${saidText(REASON)}: ${paused[0].name}`);
}

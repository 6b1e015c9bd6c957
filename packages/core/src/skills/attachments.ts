import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { and, eq } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { type AgentRow, lockToTeach } from '../agents/index.ts';
import { findSkill } from './read-skills.ts';

const { agent_skills } = schema;

/**
 * Attaches the skill to the agent; idempotent.
 * @throws notFound for another company's skill; forbidden for an agent with `secrets.use` unless the caller is an admin, and for
 * an agent with fewer rights
 */
export async function attachSkill(tx: Tx, actor: Actor, subject: AgentRow, skill_id: string): Promise<void> {
  const agent = await lockToTeach(tx, actor, subject);
  const skill = await findSkill(tx, skill_id);
  if (skill?.company_id !== agent.company_id) throw notFound();
  const attached = await tx
    .insert(agent_skills)
    .values({ agent_id: agent.id, skill_id: skill.id })
    .onConflictDoNothing()
    .returning();
  if (attached.length > 0) await note(tx, actor, agent, skill_id, 'agent.skill_attached');
}

/** @throws notFound if it is not attached, forbidden like `attachSkill` */
export async function detachSkill(tx: Tx, actor: Actor, subject: AgentRow, skill_id: string): Promise<void> {
  const agent = await lockToTeach(tx, actor, subject);
  const detached = await tx
    .delete(agent_skills)
    .where(and(eq(agent_skills.agent_id, agent.id), eq(agent_skills.skill_id, skill_id)))
    .returning();
  if (detached.length === 0) throw notFound();
  await note(tx, actor, agent, skill_id, 'agent.skill_detached');
}

async function note(tx: Tx, actor: Actor, agent: AgentRow, skill_id: string, action: string): Promise<void> {
  const { company_id, id: entity_id } = agent;
  await recordChanges(tx, actor, [
    { company_id, action, entity_type: 'agent', entity_id, details: { skill_id } },
  ]);
}

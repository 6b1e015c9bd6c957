import {
  type Actor,
  adapterTraits,
  DEFAULT_EVOLUTION_USD,
  DEFAULT_ROLLOUTS,
  type EvolvePrompt,
  type PromptEvolution,
} from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, newId, notFound, said } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { type AgentRow, lockToTeach, defaultPrompt } from '../agents/index.ts';
import { admissionRefusal, readAgentFacts } from '../runs/index.ts';
import { advanceLocked } from './advance-evolution.ts';
import { endEvolution } from './end-evolution.ts';
import { reflectingProvider } from './evolution-facts.ts';
import { selectInstances } from './history.ts';
import { evolutionChange, type EvolutionRow, presentEvolution, readParts } from './read-evolutions.ts';
import { stepProposal } from './step-proposal.ts';

const { evolution_candidates, evolution_instances, prompt_evolutions } = schema;

/** Number of finished evolutions kept per agent; older ones are deleted with all their content. */
const KEPT = 20;

/**
 * Starts an evolution of the agent's current prompt.
 * @throws forbidden if the caller may not change the prompt; conflict with `evolution_id` while one is running, with too little
 * history, or if no run of the agent would be admitted
 */
export async function evolvePrompt(
  tx: Tx,
  actor: Actor,
  subject: AgentRow,
  input: EvolvePrompt = {},
): Promise<PromptEvolution> {
  const agent = await lockToTeach(tx, actor, subject);
  await assertEvolvable(tx, agent);
  const evolution = await insertEvolution(tx, actor, agent, input);
  const instances = await selectInstances(tx, { ...evolution, agent_id: agent.id });
  const evolution_id = evolution.id;
  await tx.insert(evolution_instances).values(
    instances.map(({ began_at, ...instance }) => ({
      ...instance,
      evolution_id,
      began_at: sql`${began_at}::timestamptz`,
    })),
  );
  await tx.insert(evolution_candidates).values({
    evolution_id,
    number: 0,
    status: 'scoring',
    minibatch: [],
    system_prompt: agent.system_prompt?.trim() || defaultPrompt(agent.role),
  });
  await deleteOldEvolutions(tx, agent);
  await recordChanges(tx, actor, [
    evolutionChange(evolution, await readParts(tx, [evolution]), 'prompt_evolution.started'),
  ]);
  await advanceLocked(tx, evolution);
  return presentEvolution(tx, await read(tx, evolution_id));
}

/** @throws forbidden, conflict if it is over */
export async function cancelEvolution(tx: Tx, actor: Actor, subject: EvolutionRow): Promise<PromptEvolution> {
  await lockToTeach(tx, actor, { id: subject.agent_id });
  const [running] = await tx
    .select()
    .from(prompt_evolutions)
    .where(and(eq(prompt_evolutions.id, subject.id), eq(prompt_evolutions.status, 'running')))
    .for('no key update');
  if (running === undefined) throw conflict('the evolution has ended');
  await endEvolution(tx, actor, running, { status: 'cancelled', error: `cancelled by ${actor.name}` });
  return presentEvolution(tx, await read(tx, subject.id));
}

async function read(tx: Tx, id: string): Promise<EvolutionRow> {
  const [row] = await tx.select().from(prompt_evolutions).where(eq(prompt_evolutions.id, id));
  if (row === undefined) throw notFound();
  return row;
}

async function assertEvolvable(tx: Tx, agent: AgentRow): Promise<void> {
  const facts = await readAgentFacts(tx, agent.id);
  if (facts === undefined) throw notFound();
  const refusal = admissionRefusal(facts, stepProposal({ id: newId() }, facts, newId(), null));
  if (refusal !== null) throw conflict(refusal);
  if (adapterTraits(facts.adapter_type).runs_as !== 'model')
    throw conflict(
      said`agents with the adapter ${facts.adapter_type} can't be rehearsed: they do not use a model`,
    );
  if (agent.gepa_provider_override !== null && (await reflectingProvider(tx, agent)) === undefined)
    throw conflict('gepa_provider_override names no provider of the company');
}

async function insertEvolution(
  tx: Tx,
  actor: Actor,
  agent: AgentRow,
  { max_rollouts = DEFAULT_ROLLOUTS, max_cost_usd = DEFAULT_EVOLUTION_USD }: EvolvePrompt,
): Promise<EvolutionRow> {
  const author = actorColumns(actor);
  const [row] = await tx
    .insert(prompt_evolutions)
    .values({
      company_id: agent.company_id,
      agent_id: agent.id,
      base_version_number: agent.current_prompt_version_number,
      max_rollouts,
      max_cost_usd: String(max_cost_usd),
      started_by_agent_id: author.agent_id,
      started_by_user_id: author.user_id,
    })
    .onConflictDoNothing()
    .returning();
  if (row !== undefined) return row;
  const [running] = await tx
    .select({ id: prompt_evolutions.id })
    .from(prompt_evolutions)
    .where(and(eq(prompt_evolutions.agent_id, agent.id), eq(prompt_evolutions.status, 'running')));
  throw conflict('the prompt is already being evolved', { evolution_id: running?.id ?? null });
}

async function deleteOldEvolutions(tx: Tx, { id }: AgentRow): Promise<void> {
  await tx.execute(sql`
    delete from prompt_evolutions where id in (
      select id from prompt_evolutions where agent_id = ${id} and status <> 'running' and watch is distinct from 'watching'
      order by created_at desc, id desc offset ${KEPT - 1})`);
}

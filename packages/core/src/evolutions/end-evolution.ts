import { type Actor, permits } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { cutText } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { activatePrompt, addEvolvedPrompt, findAgent, type AgentRow } from '../agents/index.ts';
import { cancelRuns } from '../runs/index.ts';
import { PROMOTION_MARGIN, winnerOf } from './front.ts';
import { evolutionChange, type EvolutionRow, readParts, scoredOf } from './read-evolutions.ts';
import { EVOLUTION_STEP } from './step-proposal.ts';

const { evolution_steps, prompt_evolutions } = schema;
const scheduler = systemActor('scheduler');

// Limit in bytes.
const ERROR = 2000;

type End = Pick<EvolutionRow, 'status' | 'error'> &
  Partial<Pick<EvolutionRow, 'version_number' | 'winner_number' | 'watch'>> & { promoted?: boolean };

/** The only way an evolution ends; requires its row locked, after its agent's. Cancels steps in progress. */
export async function endEvolution(
  tx: Tx,
  actor: Actor,
  { id }: EvolutionRow,
  { promoted = false, error, ...end }: End,
): Promise<void> {
  const [row] = await tx
    .update(prompt_evolutions)
    .set({
      ...end,
      error: error === null ? null : cutText(error, ERROR),
      waiting_reason: null,
      finished_at: sql`clock_timestamp()`,
      ...(promoted ? { promoted_at: sql`clock_timestamp()` } : {}),
    })
    .where(eq(prompt_evolutions.id, id))
    .returning();
  // Scores and feedback stay. The rollouts' text remains in the transcripts for as long as those are kept.
  await tx
    .update(evolution_steps)
    .set({ text: null })
    .where(and(eq(evolution_steps.evolution_id, id), eq(evolution_steps.kind, 'rollout')));
  const calledOff = await cancelRuns(
    tx,
    sql`r.subject_id = ${id} and r.kind = ${EVOLUTION_STEP}`,
    'the evolution has ended',
  );
  const ended = evolutionChange(row!, await readParts(tx, [row!]), `prompt_evolution.${end.status}`);
  await recordChanges(tx, actor, [...calledOff, ended]);
}

/** Makes a candidate that beats the original a version of the prompt. @param note why it ends before its limits, if it does */
export async function finishEvolution(tx: Tx, evolution: EvolutionRow, note: string | null): Promise<void> {
  const { candidates } = await readParts(tx, [evolution]);
  const scored = scoredOf(candidates);
  const winner = winnerOf(scored);
  const agent = await findAgent(tx, evolution.agent_id);
  if (winner === undefined || winner.system_prompt === null || agent === undefined)
    return endEvolution(tx, scheduler, evolution, { status: 'completed', error: note });
  const version_number = await addEvolvedPrompt(tx, agent, {
    system_prompt: winner.system_prompt,
    score: winner.score,
    parent_version_number: evolution.base_version_number,
    reason: winner.reason,
  });
  const base = scored.find(({ number }) => number === 0)?.score ?? 0;
  const promoted = winner.score - base >= PROMOTION_MARGIN && mayPromote(agent, evolution);
  if (promoted) await activatePrompt(tx, scheduler, agent, version_number);
  return endEvolution(tx, scheduler, evolution, {
    status: 'completed',
    error: note,
    version_number,
    winner_number: winner.number,
    promoted,
    watch: promoted ? 'watching' : null,
  });
}

/**
 * Whether the winner is activated automatically: only if the agent's owner wants that and the prompt is still the one that was
 * improved. For an agent with `secrets.use` an admin decides, not a model.
 */
const mayPromote = (agent: AgentRow, evolution: EvolutionRow): boolean =>
  agent.gepa_auto_promote &&
  agent.current_prompt_version_number === evolution.base_version_number &&
  !permits(agent.permissions, 'secrets.use');

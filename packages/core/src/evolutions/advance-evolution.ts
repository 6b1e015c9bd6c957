import type { CandidateStatus } from '@acp/contract';
import { liveRunStatuses, schema, type Tx } from '@acp/db';
import { inWords, newId, stated } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { BUDGET_EXCEEDED } from '../agents/index.ts';
import { admitRuns, type AgentFacts, LONGEST_WAIT, readAgentFacts, WAITED_TOO_LONG } from '../runs/index.ts';
import { flagEnabled } from '../settings/index.ts';
import { endEvolution, finishEvolution } from './end-evolution.ts';
import { type EvolutionState, nextStep, type Step, type StepKey } from './next-step.ts';
import { evolutionChange, type EvolutionRow, readParts, scoredOf, stepState } from './read-evolutions.ts';
import { stepProposal } from './step-proposal.ts';

const { evolution_candidates, evolution_instances, evolution_steps, prompt_evolutions } = schema;
const scheduler = systemActor('scheduler');

/** More than one call can ever need: exceeding it is a defect. */
const MOST_STEPS = 20;
/** Maximum number of parallel steps; more would keep the agent from its work. */
const PARALLEL = 4;

/**
 * Advances an evolution as far as its rows allow: the job `advance-evolution`, run after each step. Idempotent: what was
 * requested is not requested again.
 */
export async function advanceEvolution(tx: Tx, evolution_id: string): Promise<void> {
  // Lock order: the agent before the evolution.
  await tx.execute(sql`select from agents a join prompt_evolutions e on e.agent_id = a.id
    where e.id = ${evolution_id} for no key update of a`);
  const [evolution] = await tx
    .select()
    .from(prompt_evolutions)
    .where(and(eq(prompt_evolutions.id, evolution_id), eq(prompt_evolutions.status, 'running')))
    .for('no key update');
  if (evolution !== undefined) await advanceLocked(tx, evolution);
}

/** Both the evolution and its agent must be locked. */
export async function advanceLocked(tx: Tx, evolution: EvolutionRow): Promise<void> {
  const agent = await readAgentFacts(tx, evolution.agent_id);
  if (agent === undefined || agent.status === 'terminated')
    return endEvolution(tx, scheduler, evolution, {
      status: 'cancelled',
      error: stated('the agent is gone'),
    });
  if (!(await flagEnabled(tx, 'prompt_evolution')))
    return endEvolution(tx, scheduler, evolution, {
      status: 'cancelled',
      error: stated('it was switched off'),
    });
  await failLostSteps(tx, evolution);
  if (await isOverdue(tx, evolution)) return stop(tx, evolution, WAITED_TOO_LONG);
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const next = nextStep(await readState(tx, evolution, agent));
    if (!(await take(tx, evolution, agent, next))) return;
  }
  throw new Error(`evolution ${evolution.id} does not advance`);
}

/** @returns whether there may be more to do immediately */
async function take(tx: Tx, evolution: EvolutionRow, agent: AgentFacts, next: Step): Promise<boolean> {
  const here = eq(evolution_candidates.evolution_id, evolution.id);
  switch (next.what) {
    case 'wait':
      return tell(tx, evolution, null);
    case 'ask':
      return ask(tx, evolution, agent, next.steps);
    case 'settle': {
      const { number, what: _, ...settled } = next;
      await tx
        .update(evolution_candidates)
        .set(settled)
        .where(and(here, eq(evolution_candidates.number, number)));
      return true;
    }
    case 'propose': {
      const { parent_number, minibatch } = next;
      await tx.execute(sql`
        insert into evolution_candidates (evolution_id, number, parent_number, minibatch)
        select ${evolution.id}, max(number) + 1, ${parent_number}::int,
          array(select value::int from jsonb_array_elements_text(${JSON.stringify(minibatch)}::jsonb))
        from evolution_candidates where evolution_id = ${evolution.id}`);
      return true;
    }
    case 'finish':
      await finishEvolution(tx, evolution, next.note);
      return false;
    case 'fail':
      await stop(tx, evolution, next.error);
      return false;
  }
}

async function readState(tx: Tx, evolution: EvolutionRow, agent: AgentFacts): Promise<EvolutionState> {
  const { candidates, steps } = await readParts(tx, [evolution]);
  const { rows: instances } = await tx.execute<
    EvolutionState['instances'][number] & Record<string, unknown>
  >(sql`
    select n.ordinal, n.split from ${evolution_instances} n join issues i on i.id = n.issue_id and i.deleted_at is null
    where n.evolution_id = ${evolution.id} order by n.ordinal`);
  return {
    id: evolution.id,
    max_rollouts: evolution.max_rollouts,
    max_cost_usd: Number(evolution.max_cost_usd),
    instances,
    candidates: candidates.map((each) => ({ ...each, status: each.status as CandidateStatus })),
    steps: steps.map(stepState),
    parallel: Math.max(1, Math.min(PARALLEL, agent.max_concurrent_runs)),
  };
}

/** Requests runs for steps. A refused admission delays the evolution; an exceeded budget ends it. */
async function ask(
  tx: Tx,
  evolution: EvolutionRow,
  agent: AgentFacts,
  steps: readonly StepKey[],
): Promise<boolean> {
  const asked = steps.map((step) => ({ step, run_id: newId() }));
  const { admitted, refused } = await admitRuns(
    tx,
    scheduler,
    agent,
    asked.map(({ step, run_id }) => stepProposal(evolution, agent, run_id, step)),
  );
  const runs = new Set(admitted.map(({ run }) => run.id));
  const rows = asked.filter(({ run_id }) => runs.has(run_id));
  if (rows.length > 0)
    await tx
      .insert(evolution_steps)
      .values(rows.map(({ step, run_id }) => ({ ...step, run_id, evolution_id: evolution.id })))
      .onConflictDoUpdate({
        target: [
          evolution_steps.evolution_id,
          evolution_steps.candidate_number,
          evolution_steps.kind,
          evolution_steps.ordinal,
        ],
        set: {
          run_id: sql`excluded.run_id`,
          status: 'asked',
          attempts: sql`${evolution_steps.attempts} + 1`,
        },
      });
  const [refusal] = refused;
  if (refusal?.reason === BUDGET_EXCEEDED) {
    await stop(tx, evolution, BUDGET_EXCEEDED);
    return false;
  }
  return tell(tx, evolution, refusal ? inWords(refusal.reason) : null);
}

async function tell(tx: Tx, evolution: EvolutionRow, waiting_reason: string | null): Promise<false> {
  const now = { ...evolution, waiting_reason };
  if (waiting_reason !== evolution.waiting_reason)
    await tx.update(prompt_evolutions).set({ waiting_reason }).where(eq(prompt_evolutions.id, evolution.id));
  await recordChanges(tx, scheduler, [evolutionChange(now, await readParts(tx, [now]))]);
  return false;
}

/** Stops an evolution that can't continue, using what was found by then. */
async function stop(tx: Tx, evolution: EvolutionRow, error: string): Promise<void> {
  const { candidates } = await readParts(tx, [evolution]);
  if (scoredOf(candidates).some(({ number }) => number > 0)) await finishEvolution(tx, evolution, error);
  else await endEvolution(tx, scheduler, evolution, { status: 'failed', error });
}

async function isOverdue(tx: Tx, { id }: EvolutionRow): Promise<boolean> {
  const { rows } = await tx.execute(
    sql`select from prompt_evolutions where id = ${id} and created_at < now() - ${LONGEST_WAIT}`,
  );
  return rows.length > 0;
}

/** Fails steps whose run disappeared without ending. */
async function failLostSteps(tx: Tx, { id }: EvolutionRow): Promise<void> {
  await tx.execute(sql`
    update evolution_steps s set status = 'failed', error = 'its run is gone', error_category = 'lost'
    where s.evolution_id = ${id} and s.status = 'asked'
      and not exists (select from heartbeat_runs r where r.id = s.run_id and r.status in ${liveRunStatuses})`);
}

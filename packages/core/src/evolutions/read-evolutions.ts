import type {
  CandidateStatus,
  EvolutionStatus,
  EvolutionStepKind,
  PromptEvolution,
  PromptEvolutionSummary,
  WatchState,
} from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, asc, eq, getTableColumns, inArray, sql } from 'drizzle-orm';
import type { Change } from '../activity/index.ts';
import { findAgent } from '../agents/index.ts';
import { paretoFront } from './front.ts';
import { spentOf, type StepState } from './next-step.ts';

const { evolution_candidates, evolution_steps, prompt_evolutions } = schema;

export type EvolutionRow = typeof prompt_evolutions.$inferSelect;
type CandidateRow = typeof evolution_candidates.$inferSelect;
type StepRow = Omit<typeof evolution_steps.$inferSelect, 'text'>;

/** Used by the scope loader: an evolution whose agent is in the trash counts as absent. */
export async function findEvolution(tx: Tx, id: string): Promise<EvolutionRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx.select().from(prompt_evolutions).where(eq(prompt_evolutions.id, id));
  return row && (await findAgent(tx, row.agent_id)) ? row : undefined;
}

/** Newest first, without prompts. */
export async function listEvolutions(
  tx: Tx,
  agent: { id: string },
  query: PageRequest,
): Promise<Page<PromptEvolutionSummary>> {
  const page = newestFirst(prompt_evolutions.created_at, prompt_evolutions.id, query, 50);
  const rows = await tx
    .select()
    .from(prompt_evolutions)
    .where(and(eq(prompt_evolutions.agent_id, agent.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  const parts = await readParts(tx, rows);
  return page.cut(rows, byCreation, (row) => summarizeEvolution(row, parts));
}

export interface Parts {
  /** Ordered by number. */
  candidates: CandidateRow[];
  steps: StepRow[];
}

export async function readParts(tx: Tx, evolutions: readonly Pick<EvolutionRow, 'id'>[]): Promise<Parts> {
  const ids = evolutions.map(({ id }) => id);
  if (ids.length === 0) return { candidates: [], steps: [] };
  const candidates = await tx
    .select()
    .from(evolution_candidates)
    .where(inArray(evolution_candidates.evolution_id, ids))
    .orderBy(asc(evolution_candidates.number));
  const { text: _, ...columns } = getTableColumns(evolution_steps);
  const steps = await tx
    .select(columns)
    .from(evolution_steps)
    .where(inArray(evolution_steps.evolution_id, ids));
  return { candidates, steps };
}

export const stepState = (step: StepRow): StepState => ({
  ...step,
  kind: step.kind as EvolutionStepKind,
  cost_usd: Number(step.cost_usd),
});

/** Candidates that were scored on the held-out issues. */
export function scoredOf(candidates: readonly CandidateRow[]) {
  return candidates.flatMap(({ number, status, score, cost_usd, ...rest }) =>
    status === 'scored' && score !== null ? [{ ...rest, number, score, cost_usd: cost_usd ?? 0 }] : [],
  );
}

function presentCandidates(candidates: readonly CandidateRow[]) {
  const front = new Set(paretoFront(scoredOf(candidates)).map(({ number }) => number));
  return candidates.map(({ number, parent_number, status, score, cost_usd, system_prompt, reason }) => ({
    number,
    parent_number,
    status: status as CandidateStatus,
    score,
    cost_usd,
    on_front: front.has(number),
    system_prompt,
    reason,
  }));
}

function summarizeEvolution(row: EvolutionRow, parts: Parts): PromptEvolutionSummary {
  const candidates = parts.candidates.filter(({ evolution_id }) => evolution_id === row.id);
  const steps = parts.steps.filter(({ evolution_id }) => evolution_id === row.id).map(stepState);
  return {
    ...row,
    status: row.status as EvolutionStatus,
    watch: row.watch as WatchState | null,
    max_cost_usd: Number(row.max_cost_usd),
    candidates: presentCandidates(candidates).map(
      ({ system_prompt: _prompt, reason: _reason, ...candidate }) => candidate,
    ),
    rollouts: steps.filter(({ kind }) => kind === 'rollout').length,
    spent_usd: Math.round(spentOf(steps) * 1e8) / 1e8,
  };
}

export async function presentEvolution(tx: Tx, row: EvolutionRow): Promise<PromptEvolution> {
  const parts = await readParts(tx, [row]);
  const { rows: instances } = await tx.execute<Omit<PromptEvolution['instances'][number], 'scores'>>(sql`
    select n.ordinal, n.issue_id, i.identifier, i.title, n.split from evolution_instances n
    join issues i on i.id = n.issue_id and i.deleted_at is null
    where n.evolution_id = ${row.id} order by n.ordinal`);
  const { rows: scores } = await tx.execute<
    PromptEvolution['instances'][number]['scores'][number] & { ordinal: number }
  >(sql`
    select j.ordinal, j.candidate_number, j.score, j.text as feedback, r.run_id from evolution_steps j
    join evolution_steps r on r.evolution_id = j.evolution_id and r.candidate_number = j.candidate_number
      and r.ordinal = j.ordinal and r.kind = 'rollout'
    where j.evolution_id = ${row.id} and j.kind = 'judge' and j.status = 'done' order by j.candidate_number`);
  return {
    ...summarizeEvolution(row, parts),
    candidates: presentCandidates(parts.candidates),
    instances: instances.map((instance) => ({
      ...instance,
      scores: scores.flatMap(({ ordinal, ...score }) => (ordinal === instance.ordinal ? [score] : [])),
    })),
  };
}

export function evolutionChange(row: EvolutionRow, parts: Parts, action?: string): Change {
  const { company_id, id: entity_id, agent_id, status, version_number } = row;
  return {
    company_id,
    entity_type: 'prompt_evolution',
    entity_id,
    ...(action === undefined ? {} : { action, details: { agent_id, status, version_number } }),
    event: { type: 'evolution_updated', data: summarizeEvolution(row, parts) },
  };
}

import {
  adapterTraits,
  createValidator,
  type EvolutionStepKind,
  Judgement,
  Reflection,
  rubricPoints,
} from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { cutText, storableText, stated } from '@acp/kernel';
import { enqueue, enqueueMany } from '@acp/queue';
import { and, eq, inArray, sql } from 'drizzle-orm';
import {
  type Begun,
  eachAlone,
  type EndedRun,
  type KindChanges,
  readJsonAnswer,
  type RunKind,
  type RunRow,
} from '../runs/index.ts';
import { EVOLUTION_STEP } from './step-proposal.ts';

const { evolution_candidates, evolution_steps, prompt_evolutions } = schema;
type StepRow = typeof evolution_steps.$inferSelect;

// Limits in bytes.
const SAID = 12_000;
const FEEDBACK = 2000;
const REASON = 2000;
const ERROR = 1000;
/** Deducted from the score for each verb of a rollout that would have been refused, up to three. */
const BAD_VERB = 0.1;
const BAD_VERBS = 3;

const readJudgement = createValidator(Judgement, 'judgement');
const readReflection = createValidator(Reflection, 'reflection');

/** One call of an evolution: a rollout, a judgement, or a reflection. */
export const evolutionStepKind: RunKind = {
  name: EVOLUTION_STEP,
  subject: { type: 'prompt_evolution', table: 'prompt_evolutions' },
  liveKey: ({ subject_id, payload: { candidate_number: candidate, kind, ordinal } }) =>
    subject_id === null
      ? null
      : `evolution:${subject_id}:${String(candidate)}:${String(kind)}:${String(ordinal)}`,
  audience: () => ({ topic: null, admins_only: false }),
  retries: true,
  begin: eachAlone(beginStep),
  end: endStep,
  cancelQueued: cancelSteps,
  retry: async (tx, { run }, admit) => {
    const again = await admit(null);
    if (again === undefined) return false;
    await tx.update(evolution_steps).set({ run_id: again.id }).where(asked(run.id));
    return true;
  },
};

const asked = (run_id: string) =>
  and(eq(evolution_steps.run_id, run_id), eq(evolution_steps.status, 'asked'));

async function beginStep(tx: Tx, run: RunRow): Promise<Begun> {
  // The adapter may have changed since the admission, and a program would really act.
  if (adapterTraits(run.adapter_type).runs_as !== 'model') {
    const message = `adapter ${run.adapter_type} can't be rehearsed`;
    await failSteps(tx, [run.id], { error: message, error_category: 'config' });
    await enqueue(tx, 'advance-evolution', { evolution_id: run.subject_id ?? '' });
    return { refused: { message, category: 'config' } };
  }
  const rows = await tx
    .select({ id: prompt_evolutions.id })
    .from(evolution_steps)
    .innerJoin(prompt_evolutions, eq(prompt_evolutions.id, evolution_steps.evolution_id))
    .where(and(asked(run.id), eq(prompt_evolutions.status, 'running')));
  return rows.length > 0
    ? { changes: [] }
    : { refused: { message: stated('the evolution has ended'), category: 'conflict' } };
}

/** Stores the result of the step. The evolution advances in a separate transaction. */
async function endStep(tx: Tx, { run, subject, result, retried }: EndedRun): Promise<KindChanges> {
  if (subject === null || retried) return { changes: [] };
  const [step] = await tx.select().from(evolution_steps).where(asked(run.id));
  if (step === undefined) return { changes: [] };
  const text = run.status === 'succeeded' ? storableText(result.text ?? '').trim() : '';
  const paid = sql`${evolution_steps.cost_usd} + ${run.cost_usd}::numeric`;
  await tx.update(evolution_steps).set({ cost_usd: paid }).where(asked(run.id));
  const unreadable =
    text === ''
      ? (run.error ?? 'it said nothing')
      : await keep[step.kind as EvolutionStepKind](tx, step, text, result);
  if (unreadable !== null)
    await failSteps(tx, [run.id], { error: unreadable, error_category: run.error_category });
  await enqueue(tx, 'advance-evolution', { evolution_id: step.evolution_id });
  return { changes: [] };
}

/** Stores the answer, by kind of step. @returns why it can't be used; null if it can */
const keep: Record<
  EvolutionStepKind,
  (tx: Tx, step: StepRow, text: string, result: EndedRun['result']) => Promise<string | null>
> = {
  rollout: async (tx, step, text, { rehearsed = [] }) => {
    const bad = rehearsed.filter(({ error }) => error !== null);
    const notes = bad.slice(0, 10).map(({ line, error }) => `- ${line.slice(0, 200)}: ${error!}`);
    const said =
      notes.length === 0 ? text : `${text}\n\n[Verbs that would have been refused:]\n${notes.join('\n')}`;
    await done(tx, step, {
      text: cutText(said, SAID),
      score: 1 - BAD_VERB * Math.min(BAD_VERBS, bad.length),
    });
    return null;
  },
  judge: async (tx, step, text) => {
    const judged = readJsonAnswer(text, readJudgement);
    if (judged === undefined) return stated('the judge gave no readable judgement');
    const measured = await measuredOf(tx, step);
    const points = rubricPoints.reduce((sum, point) => sum + judged[point], 0);
    const score = Math.max(0, points / (4 * rubricPoints.length) - (1 - measured));
    await done(tx, step, { text: cutText(judged.feedback, FEEDBACK), score });
    return null;
  },
  reflect: async (tx, step, text) => {
    const written = readJsonAnswer(text, readReflection);
    if (written === undefined) return stated('the reflection gave no usable prompt');
    const system_prompt = written.system_prompt.trim();
    const known = await tx
      .select({ number: evolution_candidates.number })
      .from(evolution_candidates)
      .where(
        and(
          eq(evolution_candidates.evolution_id, step.evolution_id),
          eq(evolution_candidates.system_prompt, system_prompt),
        ),
      );
    const same = known.length > 0;
    await done(tx, step, { text: null, score: null });
    await tx
      .update(evolution_candidates)
      .set({
        status: same ? 'rejected' : 'trial',
        system_prompt,
        reason: same ? stated('It is a prompt that was there already.') : cutText(written.reason, REASON),
      })
      .where(
        and(
          eq(evolution_candidates.evolution_id, step.evolution_id),
          eq(evolution_candidates.number, step.candidate_number),
          eq(evolution_candidates.status, 'proposed'),
        ),
      );
    return null;
  },
};

async function done(tx: Tx, { run_id }: StepRow, said: Pick<StepRow, 'text' | 'score'>): Promise<void> {
  await tx
    .update(evolution_steps)
    .set({ ...said, status: 'done', error: null, error_category: null, finished_at: sql`clock_timestamp()` })
    .where(asked(run_id));
}

/** The measured score of the rollout being judged. */
async function measuredOf(tx: Tx, { evolution_id, candidate_number, ordinal }: StepRow): Promise<number> {
  const [rollout] = await tx
    .select({ score: evolution_steps.score })
    .from(evolution_steps)
    .where(
      and(
        eq(evolution_steps.evolution_id, evolution_id),
        eq(evolution_steps.candidate_number, candidate_number),
        eq(evolution_steps.ordinal, ordinal),
        eq(evolution_steps.kind, 'rollout'),
      ),
    );
  return rollout?.score ?? 1;
}

async function failSteps(
  tx: Tx,
  run_ids: readonly string[],
  { error, error_category }: { error: string; error_category: string | null },
): Promise<void> {
  await tx
    .update(evolution_steps)
    .set({
      status: 'failed',
      error: cutText(storableText(error), ERROR),
      error_category,
      finished_at: sql`clock_timestamp()`,
    })
    .where(and(inArray(evolution_steps.run_id, [...run_ids]), eq(evolution_steps.status, 'asked')));
}

/** Handles runs cancelled before they started. */
async function cancelSteps(tx: Tx, runs: readonly RunRow[]): Promise<void> {
  const run_ids = runs.map(({ id }) => id);
  await failSteps(tx, run_ids, {
    error: runs[0]?.error ?? 'its run was cancelled',
    error_category: 'cancelled',
  });
  const evolutions = await tx
    .selectDistinct({ evolution_id: evolution_steps.evolution_id })
    .from(evolution_steps)
    .where(inArray(evolution_steps.run_id, run_ids));
  await enqueueMany(tx, 'advance-evolution', evolutions);
}

import { waitFor } from '@acp/testkit';
import { acts, holds, lateActs, liftAll, stopHeartbeats } from './acts.ts';
import {
  checkCheckouts,
  checkEnds,
  checkExecutions,
  checkFaults,
  checkProcesses,
  countBy,
} from './check-runs.ts';
import { checkSpending } from './check-spending.ts';
import { checkVerbs } from './check-verbs.ts';
import { checkLetGo, checkWaiting, whyRunWaits, whyWakeupWaits } from './check-waiting.ts';
import type { Facts } from './facts.ts';
import { Random } from './random.ts';
import { readFacts, readProcesses, readPrograms } from './read-facts.ts';
import { setStage, waitForRest } from './stage.ts';
import type { Stage } from './stage.ts';

const STEPS = 80;
/** Number of steps before the end at which work is blocked. */
const LATE = 12;
/** How long a step waits for something to happen. */
const BEAT_MS = 120;

export interface MixOutcome {
  violations: string[];
  /** Summary of the mix, one line per check. */
  summary: string[];
  /** The steps, and the remaining contents of the database. */
  report: string;
}

/** Runs the seed's mix and checks it twice: at rest with the blocks in place, and again after removing them. */
export async function runMix(seed: number): Promise<MixOutcome> {
  const stage = await setStage(seed);
  const violations: string[] = [];
  const summary: string[] = [];
  let facts: Facts | undefined;
  try {
    await drive(stage, new Random(seed));
    stage.model.quieten();
    await stopHeartbeats(stage);
    facts = await settle(stage, 'held back', violations);
    summary.push(summarize('held back', facts, stage));
    await stage.calmDown();
    stage.fleet.start();
    // A start enqueues everything that waits: only blocks removed after it test that removing them releases work.
    await stage.fleet.started();
    await waitForRest(stage);
    await liftAll(stage);
    facts = await settle(stage, 'let go', violations);
    violations.push(...checkLetGo(facts));
    summary.push(summarize('let go', facts, stage));
  } catch (err) {
    violations.push(err instanceof Error ? (err.stack ?? err.message) : String(err));
    facts = await readFacts(stage.db, stage.company_id);
  } finally {
    await stage.close();
  }
  return { violations, summary, report: reportOf(seed, stage, facts) };
}

/** The processes determine what happens between two steps: each step waits a while for the model's next call. */
async function drive(stage: Stage, random: Random): Promise<void> {
  const { fake, steps, seed } = stage;
  const begin = Date.now();
  for (let step = 1; step <= STEPS; step += 1) {
    const left = STEPS - step;
    const { name, act } = random.weighted(left > LATE ? acts : left === LATE ? holds : lateActs);
    // Its own generator, so that the outcome of a step does not change the choice of the next ones.
    stage.random = Random.of(seed, step);
    const before = fake.count();
    steps.push(`${Date.now() - begin} ms ${name}: ${await act(stage)}`);
    const timeout_ms = random.int(0, BEAT_MS);
    await waitFor(() => fake.count() > before, { timeout_ms }).catch(() => undefined);
  }
}

/** Waits for rest, stops the schedulers, and checks what they leave behind. */
async function settle(stage: Stage, when: string, violations: string[]): Promise<Facts> {
  await stage.fleet.started();
  await waitForRest(stage);
  const found = await stage.fleet.stop();
  const facts = await readFacts(stage.db, stage.company_id);
  const calls = stage.model.calls();
  found.push(
    ...checkCheckouts(facts),
    ...checkExecutions(facts, calls, await readPrograms(stage.db, stage.program_homes)),
    ...checkVerbs(facts, stage.model.said),
    ...checkWaiting(facts),
    ...checkSpending(facts, calls, stage.limits),
    ...checkProcesses(readProcesses(stage.service_home)),
    ...checkEnds(facts),
    ...checkFaults(facts),
  );
  violations.push(...found.map((each) => `${when}: ${each}`));
  return facts;
}

function summarize(when: string, facts: Facts, { model, steps }: Stage): string {
  const told = (counts: Map<string, number>) =>
    [...counts].map(([what, count]) => `${count} ${what}`).join(', ') || 'nothing';
  const ends = countBy(facts.runs, ({ status, error_category: why }) => (why === null ? status : why));
  const verbs = countBy(facts.actions, ({ ok }) => (ok ? 'applied' : 'refused'));
  const waits = [
    ...facts.wakeups.map((wakeup) => whyWakeupWaits(facts, wakeup)),
    ...facts.runs.filter(({ status }) => status === 'queued').map((run) => whyRunWaits(facts, run)),
  ];
  const reasons = countBy(waits, (reason) => `because ${reason}`);
  return `${when}: ${steps.length} steps, ${model.calls().length} calls; runs: ${told(ends)}; verbs: ${told(verbs)}; waiting: ${told(reasons)}`;
}

function reportOf(seed: number, stage: Stage, facts: Facts | undefined): string {
  return [
    `seed ${seed}`,
    ...stage.steps,
    JSON.stringify({ ...facts, prompts: [], written: [] }),
    stage.fleet.output(),
  ].join('\n');
}

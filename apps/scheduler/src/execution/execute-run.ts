import { execute } from '@acp/adapters';
import type { ProviderSpec } from '@acp/adapters';
import type { Pricing } from '@acp/contract';
import { promptFacts, taskPayload } from '@acp/core';
import type { ClaimedRun, PromptFacts } from '@acp/core';
import type { Database } from '@acp/db';
import { Scrubber } from '@acp/kernel';
import type { Config, Logger, Vault } from '@acp/kernel';
import { dropIfEmpty } from '../programs/agent-folders.ts';
import { applyAction } from '../verbs/apply.ts';
import { writeEnd } from './finish.ts';
import { RunStopped } from './held-run.ts';
import type { HeldRun } from './held-run.ts';
import { persist } from './persist.ts';
import { planAdapter } from './plan-adapter.ts';
import type { AdapterPlan, PlannedTask } from './plan-adapter.ts';
import { buildPrompt } from './prompt.ts';
import type { Prompt } from './prompt.ts';
import { handOver } from './remote.ts';
import { reserveTurn } from './run-budget.ts';
import { failureOf, RunFailure } from './run-failure.ts';
import { Transcript } from './transcript.ts';
import { runTurns } from './turn-loop.ts';
import type { TurnsOutcome } from './turn-loop.ts';

export interface ExecutionSettings {
  database: Database;
  config: Config;
  logger: Logger;
  /** The instance's own provider; null where none is configured. */
  provider: ProviderSpec | null;
  pricing: Pricing;
  /** Opens the secrets that configurations refer to. */
  vault: Vault;
}

/**
 * A claimed run from its prompt to its end. Never rejects: what goes wrong becomes the run's error, and a run that is
 * not ours any more is left to whoever has it.
 */
export async function executeRun(settings: ExecutionSettings, run: ClaimedRun, held: HeldRun): Promise<void> {
  const { database, logger } = settings;
  const scrubber = new Scrubber();
  const transcript = new Transcript({ database, held, scrubber, logger });
  const outcome: TurnsOutcome = { prose: [], usage: [], changed: false, failure: null };
  try {
    try {
      await work(settings, run, { held, scrubber, transcript }, outcome);
    } catch (err) {
      if (!(err instanceof RunStopped)) outcome.failure = failureOf(err);
    }
    if (outcome.handed_over) return;
    await writeEnd(settings, { run, held, scrubber, transcript, outcome });
  } catch (err) {
    // Lost, or the end could not be written: the lease lapses, and the sweep finishes the run.
    if (err instanceof RunStopped) logger.warn('a run was given up', { run_id: run.run_id, why: err.why });
    else logger.error('the end of a run was not written', { run_id: run.run_id, error: err });
  }
}

interface Parts {
  held: HeldRun;
  scrubber: Scrubber;
  transcript: Transcript;
}

async function work(
  settings: ExecutionSettings,
  run: ClaimedRun,
  { held, scrubber, transcript }: Parts,
  outcome: TurnsOutcome,
): Promise<void> {
  const { database, logger } = settings;
  transcript.add('status', { status: 'running', wake_reason: run.wake_reason });
  const facts = await persist(held, logger, async () => promptFacts(database.db, run));
  if (facts === undefined) throw new RunFailure('internal', 'the agent is gone');
  const { pricing } = settings;
  const budget = { database, logger, run, held, pricing };
  if (run.adapter_type === 'remote') {
    await reserveTurn({ ...budget, model: '', metered: false }, noTurn, []);
    await handOver({ database, logger, held, transcript }, run);
    outcome.handed_over = true;
    return;
  }
  const plan = await planAdapter(settings, run, facts.agent);
  const { model } = plan.task;
  for (const secret of plan.secrets) scrubber.addSecret(secret);
  outcome.provider = plan.provider;
  outcome.session_version = plan.session_version;
  const { prompt, task } = await tellTask(settings, run, facts, plan);
  try {
    await runTurns(
      {
        held,
        transcript,
        scrubber,
        model,
        max_turns: plan.max_turns,
        execute: (turn, signal) => execute({ ...turn, ...task }, signal),
        apply: async (action) => applyAction({ database, logger, run, held, scrubber }, action),
        reserve: async (turn, usage) => reserveTurn({ ...budget, model, metered: plan.metered }, turn, usage),
      },
      prompt,
      outcome,
    );
  } finally {
    if (plan.folders !== null) await dropIfEmpty(plan.folders);
  }
  forgetBrokenSession(plan, outcome);
}

const noTurn = { system_prompt: '', messages: [] };

/** Models and CLIs are told in words, other programs by the task payload (specification, Task payload fields). */
async function tellTask(
  { database, config }: ExecutionSettings,
  run: ClaimedRun,
  facts: PromptFacts,
  { task, metered }: AdapterPlan,
): Promise<{ prompt: Prompt; task: PlannedTask }> {
  if (run.adapter_type !== 'docker' && run.adapter_type !== 'lambda')
    return { prompt: buildPrompt(facts, metered ? 'model' : 'program'), task };
  const payload = await taskPayload(database.db, run);
  if (payload === undefined) throw new RunFailure('internal', 'the agent is gone');
  const prompt = { system_prompt: payload.system_prompt, user_message: JSON.stringify(payload, null, 2) };
  // Only what runs here gets the key: what is told to the transcript has none.
  const access =
    run.api_key === null ? {} : { service_api_key: run.api_key, service_base_url: config.public_url };
  return { prompt, task: { ...task, payload: { ...payload, ...access } } };
}

/** One that a run could not go on from for good would fail the next one as well. */
function forgetBrokenSession({ task }: AdapterPlan, outcome: TurnsOutcome): void {
  const resumed = task.program?.session ?? null;
  if (resumed !== null && outcome.failure?.category === 'permanent') outcome.session = null;
}

import { execute } from '@acp/adapters';
import type { ProviderSpec } from '@acp/adapters';
import type { Pricing } from '@acp/contract';
import { promptFacts } from '@acp/core';
import type { ClaimedRun } from '@acp/core';
import type { Database } from '@acp/db';
import { Scrubber } from '@acp/kernel';
import type { Config, Logger } from '@acp/kernel';
import { applyAction } from '../verbs/apply.ts';
import { writeEnd } from './finish.ts';
import { RunStopped } from './held-run.ts';
import type { HeldRun } from './held-run.ts';
import { persist } from './persist.ts';
import { buildPrompt } from './prompt.ts';
import { chooseModel, MAX_OUTPUT_TOKENS } from './provider.ts';
import type { ModelChoice } from './provider.ts';
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
  const { database, logger, config } = settings;
  transcript.add('status', { status: 'running', wake_reason: run.wake_reason });
  const facts = await persist(held, logger, async () => promptFacts(database.db, run));
  if (facts === undefined) throw new RunFailure('internal', 'the agent is gone');
  const choice = chooseModel(facts.agent, config, settings.provider);
  if (choice.provider.api_key !== null) scrubber.addSecret(choice.provider.api_key);
  const { pricing } = settings;
  const budget = { database, logger, run, held, pricing, model: choice.model, metered: true };
  await runTurns(
    {
      held,
      transcript,
      scrubber,
      model: choice.model,
      execute: (turn, signal) =>
        execute({ ...turn, ...taskOf(config, run, choice, facts.agent.adapter_config) }, signal),
      apply: async (action) => applyAction({ database, logger, run, held, scrubber }, action),
      reserve: async (turn, usage) => reserveTurn(budget, turn, usage),
    },
    buildPrompt(facts),
    outcome,
  );
}

function taskOf(config: Config, run: ClaimedRun, { provider, model }: ModelChoice, adapterConfig: unknown) {
  return {
    run_id: run.run_id,
    adapter_type: 'llm',
    provider,
    model,
    max_output_tokens: MAX_OUTPUT_TOKENS,
    timeouts: { idle_sec: config.llm_idle_timeout_sec, total_sec: config.llm_timeout_sec },
    adapter_config: adapterConfig,
  };
}

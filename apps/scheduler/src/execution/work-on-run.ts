import { execute } from '@acp/adapters';
import { promptFacts } from '@acp/core';
import type { ClaimedRun, PromptFacts } from '@acp/core';
import type { Scrubber } from '@acp/kernel';
import { applyAction } from '../verbs/apply.ts';
import type { ExecutionSettings } from './execution-settings.ts';
import type { HeldRun } from './held-run.ts';
import { persist } from './persist.ts';
import { planAdapter } from './plan-adapter.ts';
import type { AdapterPlan, PlannedTask } from './plan-adapter.ts';
import { handOver } from './remote.ts';
import { reserveTurn } from './run-budget.ts';
import { RunFailure } from './run-failure.ts';
import { layOut, releaseFolders } from './run-files.ts';
import { tellTask } from './tell-task.ts';
import type { Transcript } from './transcript.ts';
import { runTurns } from './turn-loop.ts';
import type { TurnsOutcome } from './turn-loop.ts';

export interface RunParts {
  held: HeldRun;
  scrubber: Scrubber;
  transcript: Transcript;
}

/**
 * Prompt, adapter, turns and verbs of a run. Throws RunFailure, RunStopped or what else went wrong, with `outcome` filled
 * as far as it went.
 */
export async function workOnRun(
  settings: ExecutionSettings,
  run: ClaimedRun,
  { held, scrubber, transcript }: RunParts,
  outcome: TurnsOutcome,
): Promise<void> {
  const { database, logger } = settings;
  transcript.add('status', { status: 'running', wake_reason: run.wake_reason });
  const facts = await persist(held, logger, async () => promptFacts(database.db, run));
  if (facts === undefined) throw new RunFailure('internal', 'the agent is gone');
  const budget = { database, logger, run, held, pricing: settings.pricing };
  if (run.adapter_type === 'remote') {
    await reserveTurn({ ...budget, model: '', metered: false }, noTurn, []);
    await handOver({ database, logger, held, transcript }, run);
    outcome.handed_over = true;
    return;
  }
  const plan = await planAdapter(settings, run, facts.agent);
  try {
    await takeTurns(settings, { run, facts, plan }, { held, scrubber, transcript }, outcome);
  } finally {
    if (plan.folders !== null) await releaseFolders(plan.folders, sessionFolder(plan, outcome));
  }
  forgetBrokenSession(plan, outcome);
}

interface PlannedRun {
  run: ClaimedRun;
  facts: PromptFacts;
  plan: AdapterPlan;
}

async function takeTurns(
  settings: ExecutionSettings,
  { run, facts, plan }: PlannedRun,
  { held, scrubber, transcript }: RunParts,
  outcome: TurnsOutcome,
): Promise<void> {
  const { database, logger, pricing, storage } = settings;
  const budget = { database, logger, run, held, pricing };
  const { model } = plan.task;
  for (const secret of plan.secrets) scrubber.addSecret(secret);
  outcome.provider = plan.provider;
  outcome.provider_id = plan.provider_id;
  outcome.session_version = plan.session_version;
  const { prompt, task } = await tellTask(settings, run, facts, plan);
  const files = plan.folders === null ? null : await layOut(settings, run, plan.folders, held);
  const began = performance.now();
  try {
    await runTurns(
      {
        held,
        transcript,
        scrubber,
        model,
        max_turns: plan.max_turns,
        execute: (turn, signal) => execute({ ...turn, ...goingOn(task, outcome, began) }, signal),
        apply: async (action) => applyAction({ database, logger, run, held, scrubber, storage }, action),
        reserve: async (turn, usage) => reserveTurn({ ...budget, model, metered: plan.metered }, turn, usage),
      },
      prompt,
      outcome,
    );
  } finally {
    await files?.putAway(transcript);
  }
}

/** Of the session that the next run may go on from. */
function sessionFolder({ task }: AdapterPlan, { session }: TurnsOutcome): string | undefined {
  return (session === undefined ? task.program?.session : session)?.cwd;
}

/** A CLI's later turns go on in the session of the one before, within the time that the run has left. */
function goingOn(task: PlannedTask, { session }: TurnsOutcome, began: number): PlannedTask {
  const { program } = task;
  if (program === undefined) return task;
  const timeout_sec = Math.max(1, program.timeout_sec - (performance.now() - began) / 1000);
  return {
    ...task,
    program: { ...program, timeout_sec, session: session === undefined ? program.session : session },
  };
}

const noTurn = { system_prompt: '', messages: [] };

/** One that a run could not go on from for good would fail the next one as well. */
function forgetBrokenSession({ task }: AdapterPlan, outcome: TurnsOutcome): void {
  const resumed = task.program?.session ?? null;
  if (resumed !== null && outcome.failure?.category === 'permanent') outcome.session = null;
}

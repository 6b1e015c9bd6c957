import type { ClaimedRun } from '@acp/core';
import { applyAction } from '../verbs/apply.ts';
import type { WorkspaceFiles } from '../verbs/verb.ts';
import { rehearse } from '../verbs/rehearse.ts';
import { type ExecutionSettings, pricesOf } from './execution-settings.ts';
import type { ExecutionKind, Work } from './kinds/execution-kind.ts';
import { executeObserved } from './observe-call.ts';
import type { AdapterPlan, PlannedTask } from './plan-adapter.ts';
import { reserveTurn } from './run-budget.ts';
import type { RunParts } from './run-parts.ts';
import type { TurnInput } from './turn-input.ts';
import { runTurns, type Turns } from './turn-loop.ts';
import { totalUsage } from './usage.ts';

/** A run whose kind has built its work and whose adapter is chosen. */
export interface PlannedRun {
  run: ClaimedRun;
  kind: ExecutionKind;
  work: Work;
  plan: AdapterPlan;
}

/** Takes the turns of a planned run: calls the model or program and applies the verbs. Never rejects. */
export async function takeTurns(
  settings: ExecutionSettings,
  { run, kind, plan }: PlannedRun,
  parts: RunParts,
  { first, task }: TurnInput,
  workspace: WorkspaceFiles | null,
): Promise<Turns> {
  const { database, logger, storage, tools } = settings;
  const { held, scrubber } = parts;
  const { model } = plan.task;
  const prices = pricesOf(settings, run);
  const budget = { database, logger, run, held, prices, model, metered: plan.metered };
  const applying = { database, logger, run, held, scrubber, storage, tools, workspace, applies: kind.verbs };
  const began = performance.now();
  return runTurns(
    {
      ...parts,
      model,
      max_turns: Math.min(plan.max_turns, kind.max_turns),
      execute: (turn, signal, session) =>
        executeObserved(
          { run, provider: plan.provider },
          { ...turn, ...continueSession(task, session, began) },
          signal,
        ),
      apply: async (action) => applyAction(applying, action),
      rehearse: kind.rehearses === true ? (text) => rehearse(run, text) : undefined,
      reserve: async (turn, usage) => reserveTurn(budget, turn, usage),
      priced: (usage) => totalUsage(plan.provider, usage, prices),
    },
    first,
  );
}

/** A CLI's later turns continue the session of the previous one, within the time left for the run. */
function continueSession(task: PlannedTask, session: Turns['session'], began: number): PlannedTask {
  const { program } = task;
  if (program === undefined) return task;
  const timeout_sec = Math.max(1, program.timeout_sec - (performance.now() - began) / 1000);
  return {
    ...task,
    program: { ...program, timeout_sec, session: session === undefined ? program.session : session },
  };
}

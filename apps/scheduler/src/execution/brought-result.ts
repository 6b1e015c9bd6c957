import type { VerbRow } from '@acp/contract';
import type { RunFault, RunResult, TakenBackRun } from '@acp/core';
import { storableText } from '@acp/kernel';
import { applyAction } from '../verbs/apply.ts';
import { applyTexts } from './apply-texts.ts';
import { type ExecutionSettings, pricesOf } from './execution-settings.ts';
import { kindOfRun } from './kinds/index.ts';
import { failureOf, faultOf } from './run-failure.ts';
import type { RunParts } from './run-parts.ts';
import { totalUsage, type TurnUsage } from './usage.ts';

/** What somebody outside of the schedulers made of a run. */
export interface BroughtResult {
  /** Null: it ended well. */
  failure: RunFault | null;
  /** What the agent said, message by message: verbs at the beginning of its lines are obeyed. */
  texts: readonly string[];
  /** Cleaned: sane counts only. Empty where nothing was reported. */
  usage: readonly TurnUsage[];
  /** For the cost event: who computed it. */
  provider: string;
  session?: RunResult['session'];
}

/**
 * Applies what was brought for a run: of its verbs those that the table marks for remote results and its kind obeys, from
 * the first ordinal on that is not recorded, so that a repeat after a crash does nothing twice. Throws RunStopped where
 * the run is not ours any more.
 */
export async function applyBroughtResult(
  settings: ExecutionSettings,
  { run, next_ordinal, applied }: TakenBackRun,
  parts: RunParts,
  brought: BroughtResult,
): Promise<RunResult> {
  const { database, logger, storage, tools } = settings;
  const { held, scrubber } = parts;
  const kind = kindOfRun(run.kind);
  const applies = (verb: VerbRow) => verb.remote && kind.verbs(verb);
  const applying = { database, logger, run, held, scrubber, storage, tools, applies, workspace: null };
  const texts = brought.texts.map((text) => storableText(scrubber.scrub(text)));
  const done = await applyTexts(
    { held, transcript: parts.transcript, apply: async (action) => applyAction(applying, action) },
    texts,
    { first: 1, from: next_ordinal },
  );
  held.assertOurs();
  const stopped = done.stopped === null ? null : failureOf(done.stopped);
  return {
    failure: faultOf(stopped, { scrubber, logger, run_id: run.run_id }) ?? brought.failure,
    text: done.prose || null,
    usage: totalUsage(brought.provider, brought.usage, pricesOf(settings, run)),
    changed: applied || done.changed,
    session: brought.session,
  };
}

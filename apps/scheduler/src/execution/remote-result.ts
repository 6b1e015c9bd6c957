import type { VerbRow } from '@acp/contract';
import type { RunFault, RunResult, TakenBackRun } from '@acp/core';
import { storableText } from '@acp/kernel';
import { applyAction } from '../verbs/apply.ts';
import type { ParsedAction } from '../verbs/parse.ts';
import { applyTexts } from './apply-texts.ts';
import { type ExecutionSettings, pricesOf } from './execution-settings.ts';
import { kindOfRun } from './kinds/index.ts';
import { failureOf, faultOf } from './run-failure.ts';
import type { RunParts } from './run-parts.ts';
import { totalUsage, type TurnUsage } from './usage.ts';

/** The result of a run, delivered from outside the schedulers. */
export interface BroughtResult {
  /** Null: the run succeeded. */
  failure: RunFault | null;
  /** The agent's output, message by message; verbs at the start of a line are obeyed. */
  texts: readonly string[];
  /** Sanitised: plausible counts only. Empty if nothing was reported. */
  usage: readonly TurnUsage[];
  /** Who computed it, for the cost event. */
  provider: string;
  session?: RunResult['session'];
}

/**
 * Applies a delivered result to a run. Lines of verbs that the table does not allow for remote results stay in the text
 * (specification, behaviour rule 6); of the others, those that the run's kind obeys are applied, from the first unrecorded
 * ordinal on, so a repeat after a crash does nothing twice. Throws RunStopped if the run is no longer ours.
 */
export async function applyRemoteResult(
  settings: ExecutionSettings,
  { run, next_ordinal, applied }: TakenBackRun,
  parts: RunParts,
  brought: BroughtResult,
): Promise<RunResult> {
  const { database, logger, storage, tools } = settings;
  const { held, scrubber } = parts;
  const { verbs: applies } = kindOfRun(run.kind);
  const applying = { database, logger, run, held, scrubber, storage, tools, applies, workspace: null };
  const texts = brought.texts.map((text) => storableText(scrubber.scrub(text)));
  const how = {
    held,
    transcript: parts.transcript,
    apply: async (action: ParsedAction) => applyAction(applying, action),
    obeys: ({ remote }: VerbRow) => remote,
  };
  const done = await applyTexts(how, texts, { first: 1, from: next_ordinal });
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

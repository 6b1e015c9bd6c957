import { finishRun, pauseProvider } from '@acp/core';
import type { ClaimedRun, RunOutcome } from '@acp/core';
import { transaction, type Tx } from '@acp/db';
import type { Scrubber } from '@acp/kernel';
import { storable } from './clean-text.ts';
import type { ExecutionSettings } from './execution-settings.ts';
import { RunStopped } from './held-run.ts';
import type { HeldRun } from './held-run.ts';
import { persist } from './persist.ts';
import type { Transcript } from './transcript.ts';
import type { TurnsOutcome } from './turn-loop.ts';
import { totalUsage } from './usage.ts';

export interface RunEnd {
  run: ClaimedRun;
  held: HeldRun;
  scrubber: Scrubber;
  transcript: Transcript;
  outcome: TurnsOutcome;
}

/** Thrown to roll back an end that the fence refused. */
class NotOurs extends Error {}

/**
 * Writes the end of the run in one transaction, with the rest of its transcript. Throws RunStopped, with nothing written,
 * when the run is not ours any more.
 */
export async function writeEnd(settings: ExecutionSettings, end: RunEnd): Promise<void> {
  const { held, transcript } = end;
  held.assertOurs();
  const outcome = outcomeOf(settings, end);
  if (outcome.error) transcript.add('error', { message: outcome.error, category: outcome.error_category });
  transcript.add('status', { status: outcome.status });
  const rest = await transcript.takeRest();
  try {
    await writeOutcome(settings, end, { ...outcome, transcript: rest });
  } catch (err) {
    if (err instanceof RunStopped) throw err;
    // A transcript with a gap is better than a run that does not end for its transcript.
    await writeOutcome(settings, end, outcome);
    settings.logger.error('transcript entries were not stored', { run_id: held.run_id, error: err });
  }
}

async function writeOutcome(
  { database, logger }: ExecutionSettings,
  { run, held, outcome: turns }: RunEnd,
  outcome: RunOutcome,
): Promise<void> {
  let attempts = 0;
  try {
    await persist(held, logger, async () => {
      attempts += 1;
      await transaction(database, async (tx) => {
        if (!(await finishRun(tx, run, outcome))) throw new NotOurs();
        await pauseUsedUp(tx, turns, outcome.error);
      });
    });
  } catch (err) {
    if (!(err instanceof NotOurs)) throw err;
    // Its commit had taken effect, only the answer was lost.
    if (attempts > 1) return;
    throw new RunStopped('lost');
  }
}

/** Runs of other agents would only learn the same from the provider. */
async function pauseUsedUp(
  tx: Tx,
  { failure, provider_id }: TurnsOutcome,
  error: string | null | undefined,
): Promise<void> {
  if (failure?.category !== 'quota' || !provider_id) return;
  await pauseProvider(tx, provider_id, { reset_at: failure.reset_at, reason: error ?? failure.category });
}

function outcomeOf({ pricing, logger }: ExecutionSettings, end: RunEnd): RunOutcome {
  const { run, held, scrubber, outcome } = end;
  const usage = totalUsage(outcome.provider ?? 'none', outcome.usage, pricing);
  const session =
    outcome.session === undefined
      ? undefined
      : { session: outcome.session, version: outcome.session_version ?? null };
  const common = { usage, changed: outcome.changed, session };
  const comment = outcome.prose.filter((prose) => prose !== '').join('\n\n') || null;
  // Who called a run off does not want to read on.
  if (held.stopped === 'cancelled') return { ...common, status: 'cancelled', summary: comment };
  if (outcome.failure === null) return { ...common, status: 'succeeded', summary: comment, comment };
  const { category, message, cause } = outcome.failure;
  if (cause !== undefined) logger.error('a run failed', { run_id: run.run_id, error: cause });
  const error = storable(scrubber.scrub(message));
  return { ...common, status: 'failed', error, error_category: category, summary: comment, comment };
}

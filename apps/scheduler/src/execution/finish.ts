import { finishRun, pauseProvider } from '@acp/core';
import type { ClaimedRun, RunOutcome, TranscriptBatch } from '@acp/core';
import { transaction, type Tx } from '@acp/db';
import { storableText } from '@acp/kernel';
import type { Scrubber } from '@acp/kernel';
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
  let refusal: unknown;
  for (const { lost, told } of endings(outcome, rest)) {
    try {
      await writeOutcome(settings, end, told);
      if (lost !== '') settings.logger.error(`${lost} not stored`, { run_id: held.run_id, error: refusal });
      return;
    } catch (err) {
      if (err instanceof RunStopped) throw err;
      refusal = err;
    }
  }
  throw refusal;
}

/**
 * What is tried in turn: an end with a gap is better than none, which would leave the run to be found lost and its model
 * to be called again.
 */
function endings(outcome: RunOutcome, transcript: TranscriptBatch): { lost: string; told: RunOutcome }[] {
  const { status, usage, changed, summary = null, error, error_category } = outcome;
  const reason = error ?? 'what the run came to could not be stored';
  const bare: RunOutcome = {
    status: status === 'cancelled' ? status : 'failed',
    changed,
    error: reason,
    error_category: error_category ?? 'internal',
    usage,
  };
  return [
    { lost: '', told: { ...outcome, transcript } },
    { lost: 'transcript entries were', told: outcome },
    { lost: 'comment, session and transcript of a run were', told: { ...bare, summary } },
    { lost: 'text, session, usage and transcript of a run were', told: { ...bare, usage: null } },
  ];
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
  const error = storableText(scrubber.scrub(message));
  return { ...common, status: 'failed', error, error_category: category, summary: comment, comment };
}

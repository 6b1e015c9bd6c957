import { finishRun, type ClaimedRun, type RunResult, type TranscriptBatch } from '@acp/core';
import { transaction } from '@acp/db';
import { stated } from '@acp/kernel';
import type { ExecutionSettings } from './execution-settings.ts';
import { RunStopped } from './held-run.ts';
import { retryTransient } from './retry-transient.ts';
import type { RunParts } from './run-parts.ts';

/** Thrown to roll back an end that the fence refused. */
class NotOurs extends Error {}

/**
 * Writes the end of the run in one transaction, along with the rest of its transcript. Throws RunStopped, with nothing
 * written, if the run is no longer ours.
 */
export async function writeEnd(
  settings: ExecutionSettings,
  run: ClaimedRun,
  parts: RunParts,
  result: RunResult,
): Promise<void> {
  parts.held.assertOurs();
  const rest = await parts.transcript.takeRest();
  let refusal: unknown;
  for (const { lost, written } of endings(result, rest)) {
    try {
      await finish(settings, run, parts, written);
      if (lost !== '') settings.logger.error(`${lost} not stored`, { run_id: run.run_id, error: refusal });
      return;
    } catch (err) {
      if (err instanceof RunStopped) throw err;
      refusal = err;
    }
  }
  throw refusal;
}

/**
 * Lists what is tried in order: an end with a gap is better than none, after which the run would be found lost and its
 * model called again.
 */
function endings(result: RunResult, transcript: TranscriptBatch): { lost: string; written: RunResult }[] {
  const { failure, text, usage, changed } = result;
  const reason = { category: 'internal', message: stated('what the run came to could not be stored') };
  const bare: RunResult = { failure: failure ?? reason, text, summary_only: true, usage, changed };
  return [
    { lost: '', written: { ...result, transcript } },
    { lost: 'transcript entries were', written: result },
    { lost: 'comment, session and transcript of a run were', written: bare },
    {
      lost: 'text, session, usage and transcript of a run were',
      written: { ...bare, text: null, usage: null },
    },
  ];
}

async function finish(
  { database, logger, takeNext }: ExecutionSettings,
  run: ClaimedRun,
  { held }: RunParts,
  result: RunResult,
): Promise<void> {
  let attempts = 0;
  let next: string | undefined;
  const found = (run_id: string) => (next = run_id);
  try {
    await retryTransient(held, logger, async () => {
      attempts += 1;
      await transaction(database, async (tx) => {
        if (!(await finishRun(tx, run, result, found))) throw new NotOurs();
      });
    });
  } catch (err) {
    if (!(err instanceof NotOurs)) throw err;
    // The earlier commit had taken effect; only its answer was lost.
    if (attempts === 1) throw new RunStopped('lost');
  }
  if (next !== undefined) takeNext(next);
}

import type { ClaimedRun } from '@acp/core';
import { Scrubber } from '@acp/kernel';
import type { ExecutionSettings } from './execution-settings.ts';
import { writeEnd } from './finish.ts';
import { RunStopped } from './held-run.ts';
import type { HeldRun } from './held-run.ts';
import { failureOf } from './run-failure.ts';
import { Transcript } from './transcript.ts';
import type { TurnsOutcome } from './turn-loop.ts';
import { workOnRun } from './work-on-run.ts';

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
      await workOnRun(settings, run, { held, scrubber, transcript }, outcome);
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

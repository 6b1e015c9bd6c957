import type { ClaimedRun } from '@acp/core';
import { asConfigured, type AgentFolders } from '../programs/agent-folders.ts';
import { keepFiles, writeHomeFiles, RunNotHeld } from '../programs/home-files.ts';
import type { ExecutionSettings } from './execution-settings.ts';
import { type HeldRun, RunStopped } from './held-run.ts';
import { retryTransient } from './retry-transient.ts';
import type { Transcript } from './transcript.ts';

export { releaseFolders } from '../programs/agent-folders.ts';

/** The agent's own files, placed in its home for the duration of the run. */
interface FilesAtHand {
  /** Stores what has changed and notes in the transcript what could not be kept. Throws RunStopped. */
  collect(transcript: Transcript): Promise<void>;
}

/** Time limit for storing the files a program leaves; shorter once its run is cancelled. */
const KEEP_MS = 120_000;
const KEEP_CANCELLED_MS = 5000;

/** Throws RunFailure `config` for a home that leads elsewhere. */
export async function placeFiles(
  { database, storage, config, logger }: ExecutionSettings,
  run: ClaimedRun,
  { held: home }: AgentFolders,
  held: HeldRun,
): Promise<FilesAtHand> {
  const sources = {
    database,
    storage,
    retryTransient: async <T>(work: () => Promise<T>): Promise<T> => retryTransient(held, logger, work),
  };
  const laid = await asConfigured(async () => writeHomeFiles(sources, home.here, run));
  return {
    async collect(transcript) {
      const time = keepTimeLimit(held);
      try {
        const max_bytes = config.max_upload_size;
        const complaints = await keepFiles(
          { ...sources, max_bytes, signal: time.signal },
          home.here,
          run,
          laid,
        );
        for (const message of complaints) transcript.add('log', { message });
      } catch (err) {
        if (!(err instanceof RunNotHeld)) throw err;
        held.stop('lost');
        throw new RunStopped('lost');
      } finally {
        time.close();
      }
    },
  };
}

/** Aborts when the time for the files is up, or immediately if another process owns the run. */
function keepTimeLimit(held: HeldRun): { signal: AbortSignal; close: () => void } {
  const abort = new AbortController();
  const end = () => abort.abort(new Error('the run’s time for reading and writing files is over'));
  let timer = setTimeout(end, KEEP_MS);
  const onStop = () => {
    clearTimeout(timer);
    timer = setTimeout(end, held.stopped === 'cancelled' ? KEEP_CANCELLED_MS : 0);
  };
  if (held.signal.aborted) onStop();
  else held.signal.addEventListener('abort', onStop, { once: true });
  return {
    signal: abort.signal,
    close: () => {
      clearTimeout(timer);
      held.signal.removeEventListener('abort', onStop);
    },
  };
}

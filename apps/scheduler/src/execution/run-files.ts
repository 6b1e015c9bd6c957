import type { ClaimedRun } from '@acp/core';
import { type AgentFolders, dropIfEmpty } from '../programs/agent-folders.ts';
import { keepFiles, layFiles } from '../programs/home-files.ts';
import { UnsafePlace } from '../programs/safe-files.ts';
import type { ExecutionSettings } from './execution-settings.ts';
import { RunFailure } from './run-failure.ts';
import type { Transcript } from './transcript.ts';

/** The agent's own files, in its home for the time of the run. */
export interface FilesAtHand {
  /** Stores what has changed, says in the transcript what could not be kept, and clears up. */
  putAway(transcript: Transcript): Promise<void>;
}

/** Throws RunFailure `config` for a home that leads elsewhere. */
export async function layOut(
  { database, storage, config }: ExecutionSettings,
  run: ClaimedRun,
  folders: AgentFolders,
): Promise<FilesAtHand> {
  const { home } = folders;
  try {
    const laid = await layFiles({ database, storage }, home, run);
    const sources = { database, storage, max_bytes: config.max_upload_size };
    return {
      async putAway(transcript) {
        await dropIfEmpty(folders);
        const complaints = await keepFiles(sources, home, run, laid);
        for (const message of complaints) transcript.add('log', { message });
      },
    };
  } catch (err) {
    if (err instanceof UnsafePlace) throw new RunFailure('config', `the agent’s home: ${err.message}`);
    throw err;
  }
}

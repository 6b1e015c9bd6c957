import { queueRemoteTask } from '@acp/core';
import type { ClaimedRun } from '@acp/core';
import { transaction } from '@acp/db';
import type { Database } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import type { Logger } from '@acp/kernel';
import { RunStopped } from './held-run.ts';
import type { HeldRun } from './held-run.ts';
import { type ExecutionKind, readPayload, type Work } from './kinds/execution-kind.ts';
import { retryTransient } from './retry-transient.ts';
import { RunFailure } from './run-failure.ts';
import type { Transcript } from './transcript.ts';

interface RemoteSettings {
  database: Database;
  logger: Logger;
  held: HeldRun;
  transcript: Transcript;
  kind: ExecutionKind;
  work: Pick<Work, 'knowledge' | 'index'>;
}

/** Thrown to roll back a handover that the fence refused. */
class NotOurs extends Error {}

/**
 * Hands the run to the worker fleet: queues its task and releases its lease in one transaction; the task takes it from
 * there. Throws RunFailure for a configuration that makes no valid task, RunStopped if the run is no longer ours.
 */
export async function handOver(
  { database, logger, held, transcript, kind, work }: RemoteSettings,
  run: ClaimedRun,
): Promise<void> {
  const payload = await retryTransient(held, logger, async () => readPayload(kind, database.db, run, work));
  transcript.add('log', { message: 'queued as a task for a remote worker' });
  await transcript.flush();
  let attempts = 0;
  try {
    await retryTransient(held, logger, async () => {
      attempts += 1;
      await transaction(database, async (tx) => {
        if (!(await queueRemoteTask(tx, run, payload))) throw new NotOurs();
      });
    });
  } catch (err) {
    if (err instanceof ServiceError && err.kind === 'invalid') throw new RunFailure('config', err.message);
    if (!(err instanceof NotOurs)) throw err;
    // The earlier commit had taken effect; only its answer was lost.
    if (attempts > 1) return;
    held.stop('lost');
    throw new RunStopped('lost');
  }
}

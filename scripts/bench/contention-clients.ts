/** Schedulers without models in a separate process: on `{url, schedulers, ms}` they claim, renew and finish for that long. */
import { claimRun, finishRun, renewLeases } from '@acp/core';
import { type Database, openDatabase, transaction } from '@acp/db';
import { openQueue } from '@acp/queue';
import type { Answer, Told } from './contention.ts';

async function schedule(database: Database, name: string, until: number, answer: Answer): Promise<void> {
  while (performance.now() < until) {
    try {
      const from = performance.now();
      const run = await transaction(database, async (tx) =>
        claimRun(tx, { claimed_by: name, lease_sec: 30 }),
      );
      if (run === undefined) continue;
      answer.claim_ms.push(performance.now() - from);
      await renewLeases(database.db, name, [run], 30);
      const result = { failure: null, text: null, usage: null, changed: false };
      await transaction(database, async (tx) => finishRun(tx, run, result));
      answer.finished += 1;
    } catch (err) {
      answer.failures.push(err instanceof Error ? err.message : String(err));
    }
  }
}

async function work({ url, schedulers, ms }: Told): Promise<void> {
  const answer: Answer = { finished: 0, claim_ms: [], failures: [] };
  // Each has its own connections, as separate processes do.
  const databases = Array.from({ length: schedulers }, (_, n) =>
    openDatabase({ url, max: 2, application_name: `scheduler-${n}`, prepared_statements: true }),
  );
  const queues = await Promise.all(
    databases.map(async (database) => openQueue({ database, role: 'client' })),
  );
  const until = performance.now() + ms;
  await Promise.all(
    databases.map(async (database, n) => schedule(database, `${process.pid}-${n}`, until, answer)),
  );
  await Promise.all(queues.map(async (queue) => queue.stop()));
  await Promise.all(databases.map(async (database) => database.close()));
  process.send?.(answer);
}

process.on('message', (told: Told) => void work(told));
process.once('disconnect', () => process.exit(0));
process.send?.('ready');

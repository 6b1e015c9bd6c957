/** What a web process keeps for the workers' requests, so that most of them cost little (decisions 7.25). */
import type { RemoteTask, WorkerActor } from '@acp/contract';
import { claimTask, type ClaimRules, type RegistrationRules } from '@acp/core';
import { type Database, type Listener, transaction } from '@acp/db';
import type { Logger } from '@acp/kernel';
import { HeartbeatWriter } from './heartbeat-writer.ts';
import { QueuedTasks } from './queued-tasks.ts';

export interface Fleet {
  readonly registration: RegistrationRules;
  readonly heartbeats: HeartbeatWriter;
  /**
   * A task for the worker, without a statement where none is known to wait that it may take; undefined then, and for one
   * that drains.
   * @param narrowed tags that the worker limits itself to
   */
  claim(worker: WorkerActor, narrowed?: readonly string[]): Promise<RemoteTask | undefined>;
  close(): void;
}

export function createFleet({
  database,
  logger,
  listener,
  registration,
  claims,
}: {
  database: Database;
  logger?: Logger | undefined;
  listener?: Listener | undefined;
  registration: RegistrationRules;
  claims: ClaimRules;
}): Fleet {
  const queued = new QueuedTasks({ database, logger, listener });
  return {
    registration,
    heartbeats: new HeartbeatWriter(database),
    async claim(worker, narrowed) {
      if (worker.status !== 'approved') return undefined;
      const routes = await queued.routesFor(worker, narrowed);
      if (routes.length === 0) return undefined;
      const task = await transaction(database, async (tx) => claimTask(tx, worker, routes, claims));
      if (task === undefined) queued.outdated();
      else queued.claimed(task.company_id);
      return task;
    },
    close: () => queued.close(),
  };
}

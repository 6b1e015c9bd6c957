/** What a web process keeps in memory for workers' requests, so that most of them are cheap (decisions 7.25). */
import type { RemoteTask, WorkerActor } from '@acp/contract';
import {
  type ClaimOutcome,
  type ClaimRules,
  claimTasks,
  noteHeartbeats,
  type RegistrationRules,
  type TaskClaim,
  type WorkerBeat,
} from '@acp/core';
import { type Database, type Listener, transaction } from '@acp/db';
import { Batches, type Logger } from '@acp/kernel';
import { QueuedTasks } from './queued-tasks.ts';

export interface Fleet {
  readonly registration: RegistrationRules;
  /** Stores the heartbeat, batched with others. A worker that was offline gets tasks from its next claim on. */
  heartbeat(beat: WorkerBeat): Promise<void>;
  /**
   * A task for the worker. Undefined, without a query, if no task that it may take is known to be waiting; undefined also
   * for a worker that is draining.
   * @param narrowed tags that the worker limits itself to
   */
  claim(worker: WorkerActor, narrowed?: readonly string[]): Promise<RemoteTask | undefined>;
  close(): void;
}

interface FleetOptions {
  database: Database;
  logger?: Logger | undefined;
  listener?: Listener | undefined;
  registration: RegistrationRules;
  claims: ClaimRules;
}

const MOST_CLAIMS = 100;
const MOST_BEATS = 1000;
/** A fleet's heartbeats arrive evenly spread: without this pause nearly each would get a transaction of its own. */
const BEATS_REST_MS = 25;
/** Maximum number of routes that one claim tries. */
const MOST_TRIED = 16;

export function createFleet({ database, logger, listener, registration, claims }: FleetOptions): Fleet {
  const queued = new QueuedTasks({ database, logger, listener });
  const desk = new Batches<TaskClaim, ClaimOutcome>({
    most: MOST_CLAIMS,
    perform: async (asked) => transaction(database, async (tx) => claimTasks(tx, asked, claims)),
  });
  const beats = new Batches<WorkerBeat, void>({
    most: MOST_BEATS,
    rest_ms: BEATS_REST_MS,
    perform: async (noted) => {
      // Only a worker's latest heartbeat counts. One lost in a crash is made up for by the next.
      const last = new Map(noted.map((beat) => [beat.worker_id, beat]));
      await transaction(database, async (tx) => noteHeartbeats(tx, [...last.values()]), { durable: false });
      return noted.map(() => undefined);
    },
  });
  return {
    registration,
    heartbeat: async (beat) => beats.add(beat),
    async claim(worker, narrowed) {
      if (worker.status !== 'approved') return undefined;
      for (let tried = 0; tried < MOST_TRIED; tried += 1) {
        const route = await queued.reserve(worker, narrowed);
        if (route === undefined) return undefined;
        const outcome = await desk
          .add({ worker, route })
          .catch((cause: unknown) => ({ kind: 'broken' as const, cause }));
        if (outcome.kind === 'task') return outcome.task;
        if (outcome.kind === 'none') queued.exhausted(route);
        else queued.giveBack(route);
        if (outcome.kind === 'broken') throw outcome.cause;
        if (outcome.kind === 'unfit') return undefined;
      }
      return undefined;
    },
    close: () => queued.close(),
  };
}

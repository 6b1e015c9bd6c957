/** The reference remote worker (specification, Remote workers): an HTTP client of the service, plus adapters. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseSharedModels, type SharedModel, WORKER_HEARTBEAT_SEC } from '@acp/contract';
import { ConfigError, type Logger, ServiceError, type StopOptions, type WorkerConfig } from '@acp/kernel';
import { pause } from './service/backoff.ts';
import { ControlPlane } from './service/control-plane.ts';
import { openIdentity } from './service/identity.ts';
import { Link } from './service/link.ts';
import { Outbox } from './service/outbox.ts';
import { Shift, type WorkerPace } from './shift.ts';
import { sweepTaskFolders } from './task/folders.ts';

interface WorkerOptions {
  config: WorkerConfig;
  logger: Logger;
  pace?: Partial<WorkerPace>;
}

export interface RunningWorker {
  /** Resolves when the service no longer knows the worker. */
  turnedAway: Promise<void>;
  /** Takes no new tasks; current ones are finished and delivered until the deadline or a hurry. */
  stop(options: StopOptions): Promise<void>;
  kill(): Promise<void>;
}

const usual: WorkerPace = {
  heartbeat_ms: WORKER_HEARTBEAT_SEC * 1000,
  control_ms: 3000,
  batch_ms: 500,
  most_wait_ms: 30_000,
  request_timeout_ms: 20_000,
};

/** Resolves before registration, which continues in the background. Throws ConfigError. */
export async function startWorker({ config, logger, pace: given }: WorkerOptions): Promise<RunningWorker> {
  const pace = { ...usual, ...given };
  const { server_url, worker_key, home, worker_tags: tags } = config;
  const shared_models = sharedModelsOf(config);
  const name = config.worker_name ?? hostname();
  const identity = await openIdentity({ home, server_url, worker_key, name });
  const away = Promise.withResolvers<void>();
  const link = new Link(logger, server_url, () => {
    logger.error('the service does not accept this worker’s key: it was deleted, or is no worker’s key');
    away.resolve();
  });
  const plane = new ControlPlane({ url: server_url, key: identity.key, timeout_ms: pace.request_timeout_ms });
  const root = join(identity.folder, 'tasks');
  await sweepTaskFolders(root, config, logger);
  const most_wait_ms = pace.most_wait_ms;
  const outbox = await Outbox.open({
    folder: join(identity.folder, 'outbox'),
    plane,
    link,
    logger,
    most_wait_ms,
  });
  const enlisting = { identity, name, tags, shared_models };
  const shift = new Shift({ config, logger, pace, plane, link, outbox, enlisting, root });

  return {
    turnedAway: away.promise,
    async stop({ drain_ms, hurry }) {
      const task_ids = shift.drain();
      if (task_ids.length > 0) logger.info('draining: no new tasks, waiting for these', { task_ids });
      if (!hurry.aborted && drain_ms > 0) await Promise.race([shift.ended, pause(drain_ms, hurry)]);
      await shift.breakOff();
      await shift.ended;
      identity.release();
    },
    async kill() {
      shift.cutOff();
      return Promise.resolve();
    },
  };
}

function sharedModelsOf({ worker_shared_models }: WorkerConfig): SharedModel[] {
  try {
    return parseSharedModels(worker_shared_models ?? '');
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ConfigError(new Map([['SERVICE_WORKER_SHARED_MODELS', error.message]]));
  }
}

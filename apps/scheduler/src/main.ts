/** The scheduler tier as a process part: what it opens, and in which order it stops. Migrations are the launcher's. */
import { admitEncryptionKey, sweepLostRun } from '@acp/core';
import { createListener, createNotifier, openDatabase, transaction } from '@acp/db';
import type { Database } from '@acp/db';
import { type Config, type Logger, Vault } from '@acp/kernel';
import { openQueue } from '@acp/queue';
import { catchUp } from './catch-up.ts';
import type { SchedulerContext } from './context.ts';
import { LeaseKeeper } from './execution/lease.ts';
import { defaultProvider } from './execution/provider.ts';
import { RunPool } from './execution/run-pool.ts';
import { instanceName, openInstanceStorage } from './instance.ts';
import { registerJobs } from './job-handlers.ts';
import { loadPricing } from './pricing.ts';
import { sweepMachine } from './programs/stray-processes.ts';
import { TickCounters } from './tick-counters.ts';
import type { WorkerTicks } from './tick-counters.ts';
import { createTimers } from './timers.ts';

/** Aborted runs end at their next await, once their programs are gone; one that does not is cut off by the end of the process. */
const ABORT_TIMEOUT_MS = 8000;

export interface SchedulerOptions {
  config: Config;
  logger: Logger;
  /** Names this process in `claimed_by`; host, process and a random part unless told. */
  instance_name?: string;
}

export interface RunningScheduler {
  /** Lets runs end for SERVICE_DRAIN_TIMEOUT_SEC, hands back the others, and closes everything. */
  stop(): Promise<void>;
  /** What each timer and consumer has done, by name. */
  stats(): Record<string, WorkerTicks>;
  /** SQL statements sent so far, those of the notifier and the listener left out. */
  statements(): number;
}

export async function startScheduler({
  config,
  logger,
  instance_name: name = instanceName(),
}: SchedulerOptions): Promise<RunningScheduler> {
  const direct_url = config.database_direct_url ?? config.database_url;
  if (config.database_url === null || direct_url === null)
    throw new Error('the scheduler needs a database url');
  const pricing = await loadPricing(config.pricing_file);
  const database = openPool(config.database_url, direct_url, config, logger);
  const vault = new Vault(config.encryption_key, config.encryption_key_previous);
  await transaction(database, async (tx) => admitEncryptionKey(tx, vault));
  const listener = createListener({ url: direct_url, logger, application_name: 'scheduler-listener' });
  const notifier = createNotifier({
    url: direct_url,
    logger,
    application_name: 'scheduler-notifier',
    // The timer of what is due looks into the outbox every second, by the one statement for all of it.
    poll_ms: 0,
  });
  database.notifier = notifier;
  const queue = await openQueue({ database, role: 'consumer', logger, listener });
  const lease = { claimed_by: name, lease_sec: config.run_lease_sec };
  const leases = new LeaseKeeper({ database, listener, logger, ...lease });
  const storage = await openInstanceStorage(config, database, logger);
  const pool = new RunPool({
    database,
    storage,
    config,
    logger,
    pricing,
    leases,
    provider: defaultProvider(config),
    vault,
    claimed_by: name,
    onFree: () => queue.kick('execute-run'),
  });
  const counters = new TickCounters();
  const started_at = new Date();
  const context: SchedulerContext = {
    config,
    logger,
    database,
    storage,
    vault,
    queue,
    counters,
    pool,
    claimed_by: name,
    started_at,
  };
  registerJobs(context);
  const timers = createTimers(context);
  for (const timer of timers) timer.start();
  // The database was away: answers to fetches of jobs may have been lost with the connections.
  listener.onReconnect(() => void catchUp(context));
  // What a scheduler that was killed left on this machine.
  const swept = sweepMachine(context);
  await listener.ready();
  logger.info('the scheduler is running', { claimed_by: name, slots: pool.size });

  return {
    stats: () => counters.snapshot(),
    statements: () => database.statements(),
    async stop() {
      const timeoutMs = config.drain_timeout_sec * 1000;
      // Runs keep their leases while they end; everything else stops at once.
      const drained = pool.drain(timeoutMs);
      await Promise.all([
        ...timers.map(async (timer) => timer.stop()),
        queue.stop({ timeout_ms: timeoutMs }),
      ]);
      if (!(await drained)) {
        await handBack(database, leases, logger);
        await pool.drain(ABORT_TIMEOUT_MS);
      }
      await swept;
      leases.close();
      await notifier.close();
      await listener.close();
      await database.close();
      storage.close();
    },
  };
}

function openPool(url: string, direct_url: string, config: Config, logger: Logger): Database {
  return openDatabase({
    url,
    max: config.database_pool_size,
    application_name: 'scheduler',
    logger,
    // Another direct address means that a pooler stands before the database: named statements would get lost.
    prepared_statements: url === direct_url,
  });
}

/** Aborts what still runs and ends it as lost right away, so that another scheduler need not wait for the leases. */
async function handBack(database: Database, leases: LeaseKeeper, logger: Logger): Promise<void> {
  try {
    await leases.release();
    while (await transaction(database, async (tx) => sweepLostRun(tx))) {
      // One run a transaction; other schedulers may sweep alongside.
    }
  } catch (err) {
    logger.warn('runs could not be handed back: their leases lapse', { error: err });
  }
}

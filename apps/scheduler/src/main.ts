/** The scheduler tier as part of a process: what it opens, and in which order it stops. The launcher runs migrations. */
import { type Config, type Logger, Vault } from '@acp/kernel';
import { openQueue } from '@acp/queue';
import { endRuns } from './end-runs.ts';
import { LeaseKeeper } from './execution/lease-keeper.ts';
import { defaultProvider } from './execution/provider.ts';
import { RunPool } from './execution/run-pool.ts';
import {
  connectionsOf,
  instanceName,
  leaveFleet,
  openTierStorage,
  openLinks,
  openPool,
  type TierConnections,
  withWorkspaces,
} from './instance.ts';
import { registerJobs } from './job-handlers.ts';
import { openOutbound } from './outbound.ts';
import { loadPricing } from './pricing.ts';
import { openPlugins } from './plugins/open-plugins.ts';
import { sweepMachine } from './programs/stray-processes.ts';
import { openTools, type ToolProvider } from './tools/open-tools.ts';
import { TickCounters, type WorkerTicks } from './tick-counters.ts';
import { reportStart, startTimers } from './timers.ts';

/** How much time there is to stop. */
export interface StopOptions {
  /** For runs to finish by themselves; default: SERVICE_DRAIN_TIMEOUT_SEC. */
  drain_ms?: number;
  /** Aborts when no time is left. */
  hurry?: AbortSignal;
}

interface SchedulerOptions {
  config: Config;
  logger: Logger;
  /** This process's name in `claimed_by`; default: host, process and a random part. */
  instance_name?: string;
  /** Providers of outside tools; default: those of the table. */
  tool_providers?: readonly ToolProvider[];
}

export interface RunningScheduler extends TierConnections {
  /**
   * Lets runs finish for a time, hands back the rest, and closes everything. A few seconds after that time no program is left
   * running, whatever the database does; abandoning a database that never answers is up to the caller.
   */
  stop(options?: StopOptions): Promise<void>;
  /** What each timer and consumer has done, by name. */
  stats(): Record<string, WorkerTicks>;
}

export async function startScheduler({
  config,
  logger,
  instance_name: name = instanceName(),
  tool_providers,
}: SchedulerOptions): Promise<RunningScheduler> {
  const direct_url = config.database_direct_url ?? config.database_url;
  if (config.database_url === null || direct_url === null)
    throw new Error('the scheduler needs a database url');
  const pricing = await loadPricing(config.pricing_file);
  const vault = new Vault(config.encryption_key, config.encryption_key_previous);
  const database = await openPool({ url: config.database_url, direct_url }, config, { vault, logger });
  const { listener, notifier } = openLinks(direct_url, logger);
  database.notifier = notifier;
  const queue = await openQueue({ database, role: 'consumer', logger, listener });
  const lease = { claimed_by: name, lease_sec: config.run_lease_sec };
  const leases = new LeaseKeeper({ database, listener, logger, ...lease });
  const storage = await openTierStorage(config, database, logger);
  const shared = withWorkspaces({ config, logger, database, storage, vault });
  const outbound = openOutbound({ ...shared, listener, name, pricing });
  const { webhooks, peers, knowledge, messages, channels } = outbound;
  const { tools, mcp_servers } = openTools({ ...shared, listener, name, knowledge }, tool_providers);
  const pool = new RunPool({
    ...shared,
    pricing,
    tools,
    leases,
    provider: defaultProvider(config),
    recall: knowledge.recall,
    claimed_by: name,
    onFree: () => queue.kick('execute-run'),
  });
  const onReady = () => queue.lookForCommands();
  const plugins = openPlugins({ ...shared, listener, name, onReady });
  const counters = new TickCounters();
  const started_at = new Date();
  const context = {
    ...shared,
    direct_url,
    queue,
    counters,
    pool,
    tools,
    webhooks,
    peers,
    knowledge,
    messages,
    channels,
    plugins,
    mcp_servers,
    claimed_by: name,
    started_at,
  };
  registerJobs(context);
  const timers = startTimers(context, listener);
  // What a killed scheduler left on this machine.
  const swept = sweepMachine(context);
  await Promise.all([listener.ready(), reportStart(context)]);
  logger.info('the scheduler is running', { claimed_by: name, slots: pool.size });

  return {
    stats: () => counters.snapshot(),
    ...connectionsOf(database),
    async stop({ drain_ms: timeoutMs = config.drain_timeout_sec * 1000, hurry } = {}) {
      // Runs keep their leases while they finish; everything else stops immediately.
      await Promise.all([
        endRuns({ pool, leases, database, logger }, timeoutMs, hurry),
        ...timers.map(async (timer) => timer.stop()),
        queue.stop({ timeout_ms: timeoutMs }),
        outbound.stop(),
        plugins.stop(),
        mcp_servers.stop(),
      ]);
      await Promise.all([swept, shared.workspaces.spares.stop()]);
      await leaveFleet(database, name);
      leases.close();
      await Promise.all([notifier.close(), listener.close()]);
      await database.close();
      storage.close();
    },
  };
}

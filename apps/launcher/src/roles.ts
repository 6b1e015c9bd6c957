/** The role table. Tiers are only imported where they run: a web process never loads an adapter. */
import { setTimeout as delay } from 'node:timers/promises';
import type { PoolStats } from '@acp/db';
import type { Config, Logger, StopOptions } from '@acp/kernel';

interface Tier {
  /** Its URL; null if another tier of the process serves HTTP. */
  url: string | null;
  stop(options?: StopOptions): Promise<void>;
  /** Called when a rush is over. */
  rest?(): Promise<void>;
  /** The connections on which it works. */
  readonly poolStats?: () => PoolStats;
}

/** @param before the tiers that the process has started already */
type Start = (config: Config, logger: Logger, before: readonly Tier[]) => Promise<Tier>;

const web: Start = async (config, logger) => {
  const { startWeb } = await import('@acp/web');
  const tier = await startWeb({ config, logger });
  if (tier.setup_url !== null)
    logger.info('no user yet: open this link to create the first admin', { url: tier.setup_url });
  return tier;
};

const scheduler: Start = async (config, logger) => {
  const { startScheduler } = await import('@acp/scheduler');
  const tier = await startScheduler({ config, logger });
  return { ...tier, url: null };
};

const health: Start = async (config, logger, before) => {
  const { startHealthServer } = await import('@acp/web/health');
  return startHealthServer({ config, logger, pool: before.find(({ poolStats }) => poolStats)?.poolStats });
};

/** In start order; they stop in reverse, so that no request waits for a scheduler that is gone. */
const tiersByRole: Record<Config['role'], readonly Start[]> = {
  all: [scheduler, web],
  web: [web],
  scheduler: [scheduler, health],
};

export async function startTiers(
  config: Config,
  logger: Logger,
): Promise<{ url: string; stop(options?: StopOptions): Promise<void>; rest(): Promise<void> }> {
  // V8 links all modules of an import in one step, and looking names up through `export *` takes memory until the step's end: for
  // all of a tier at once 14 MB, most of which the allocator never gives back.
  await import('@acp/core');
  const started: Tier[] = [];
  const stop = async (options?: StopOptions) => {
    if (options === undefined) for (const tier of started.toReversed()) await tier.stop();
    else await stopWithin(started.toReversed(), options);
  };
  try {
    for (const start of tiersByRole[config.role]) started.push(await start(config, logger, started));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: started.find((tier) => tier.url !== null)?.url ?? '',
    stop,
    rest: async () => {
      for (const tier of started) await tier.rest?.();
    },
  };
}

/** Stops tiers one after the other within a common deadline; afterwards, or in a hurry, none waits for the previous one. */
async function stopWithin(tiers: readonly Tier[], { drain_ms, hurry }: StopOptions): Promise<void> {
  const until = performance.now() + drain_ms;
  const timeOver = delay(drain_ms, undefined, { signal: hurry, ref: false }).catch(() => undefined);
  const stopping: Promise<void>[] = [];
  for (const tier of tiers) {
    const left = hurry.aborted ? 0 : Math.max(0, until - performance.now());
    const stopped = tier.stop({ drain_ms: left, hurry });
    stopping.push(stopped);
    await Promise.race([stopped, timeOver]);
  }
  await Promise.all(stopping);
}

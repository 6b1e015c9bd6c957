/** The role table. Tiers are imported only where they run: a web process never loads an adapter. */
import type { Config, Logger } from '@acp/kernel';

interface Tier {
  /** Where it listens; null where another tier of the process serves HTTP. */
  url: string | null;
  stop(): Promise<void>;
}

type Start = (config: Config, logger: Logger) => Promise<Tier>;

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
  return { url: null, stop: () => tier.stop() };
};

const health: Start = async (config, logger) => {
  const { startHealthServer } = await import('@acp/web');
  return startHealthServer({ config, logger });
};

/** In the order of their start; they stop in the opposite one, so that no request waits for a scheduler that is gone. */
const tiersByRole: Record<Config['role'], readonly Start[]> = {
  all: [scheduler, web],
  web: [web],
  scheduler: [scheduler, health],
};

export async function startTiers(
  config: Config,
  logger: Logger,
): Promise<{ url: string; stop(): Promise<void> }> {
  const started: Tier[] = [];
  const stop = async () => {
    for (const tier of started.toReversed()) await tier.stop();
  };
  try {
    for (const start of tiersByRole[config.role]) started.push(await start(config, logger));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: started.find((tier) => tier.url !== null)?.url ?? '', stop };
}

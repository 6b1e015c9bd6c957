/** A pool of runs without the rest of its scheduler, for agents with a stand-in CLI. */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ToolRegistry } from '@acp/core';
import { createListener } from '@acp/db';
import { loadConfig, Vault } from '@acp/kernel';
import { openQueue } from '@acp/queue';
import { LocalStorage } from '@acp/storage';
import * as kit from '@acp/testkit';
import { LeaseKeeper } from '../../apps/scheduler/src/execution/lease-keeper.ts';
import { RunPool } from '../../apps/scheduler/src/execution/run-pool.ts';
import { loadPricing } from '../../apps/scheduler/src/pricing.ts';
import { DiskWatch } from '../../apps/scheduler/src/programs/disk-watch.ts';
import { workspaceSources } from '../../apps/scheduler/src/workspaces/sources.ts';

interface PoolOptions {
  /** What the CLI does in its first run, its second, … */
  calls: kit.FakeCliCall[];
  variables?: Record<string, string>;
  /** Bytes that are free on the disk of that home; by default, what the machine's own has. */
  free?: (home: string) => number;
}

export type PoolStage = Awaited<ReturnType<typeof startPool>>;

export async function startPool(name: string, { calls, variables, free }: PoolOptions) {
  const db = await kit.cloneDatabase(name);
  const folder = await realpath(await mkdtemp(`/var/tmp/${name}-test-`));
  const script = path.join(folder, 'script.json');
  await writeFile(script, JSON.stringify({ calls }));
  const command = kit.fakeCliCommand('a', script).map((word) => `"${word}"`);
  const config = loadConfig({
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(folder, 'home'),
    SERVICE_CLI_A_COMMAND: command.join(' '),
    ...variables,
  });
  const logger = kit.testLogger();
  const { database } = db;
  const listener = createListener({ url: db.url, logger });
  const queue = await openQueue({ database, role: 'client' });
  const claimed_by = 'scheduler';
  const leases = new LeaseKeeper({ database, listener, logger, claimed_by, lease_sec: config.run_lease_sec });
  const storage = new LocalStorage(path.join(folder, 'files'));
  const vault = new Vault(null, []);
  const sources = workspaceSources({ config, database, logger, storage, vault });
  const disk =
    free && new DiskWatch(config, logger, { free: async () => Promise.resolve(free(config.home)) });
  const workspaces = { ...sources, ...(disk && { disk }) };
  const pricing = await loadPricing(null);
  const tools = new ToolRegistry([], logger);
  const newPool = () =>
    new RunPool({
      database,
      config,
      logger,
      leases,
      claimed_by,
      provider: null,
      pricing,
      vault,
      storage,
      tools,
      recall: async () => Promise.resolve([]),
      workspaces,
      onFree: () => undefined,
    });
  const pool = newPool();
  return {
    db,
    folder,
    leases,
    pool,
    /** Another one beside it. */
    newPool,
    async stop(): Promise<void> {
      await pool.drain(5000);
      leases.close();
      await queue.stop();
      await listener.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

import {
  killMarked,
  labelledContainers,
  markedProcesses,
  removeRunContainers,
  sweepRunFolders,
} from '@acp/adapters';
import { adapterTraits } from '@acp/contract';
import { endedAmong } from '@acp/core';
import type { Database } from '@acp/db';
import { type Config, engineEnvironment, type Logger } from '@acp/kernel';

interface Sweeper {
  config: Pick<Config, 'container_cli'>;
  database: Database;
  logger: Logger;
}

/**
 * Kills the processes that finished runs left on this machine because their scheduler was killed. Runs unknown to the
 * database belong to another instance, and running ones to their scheduler.
 */
export async function sweepProcesses({ database, logger }: Sweeper): Promise<void> {
  const run_ids = new Set((await markedProcesses()).map(({ run_id }) => run_id));
  if (run_ids.size === 0) return;
  for (const run_id of await endedAmong(database.db, [...run_ids])) {
    const killed = await killMarked(run_id);
    if (killed > 0) logger.warn('processes of an ended run were killed', { run_id, processes: killed });
  }
}

/** The same for containers, which outlive the command line that started them. */
async function sweepContainers({ config, database, logger }: Sweeper): Promise<void> {
  const engine = { cli: config.container_cli, cli_env: engineEnvironment() };
  const run_ids = await labelledContainers(engine);
  for (const run_id of await endedAmong(database.db, run_ids)) {
    await removeRunContainers(engine, run_id);
    logger.warn('the container of an ended run was removed', { run_id });
  }
}

/** The same for the folders of runs outside their homes: what containers are created with, and sockets of sandboxes. */
export async function sweepFiles({ database, logger }: Pick<Sweeper, 'database' | 'logger'>): Promise<void> {
  const folders = await sweepRunFolders(async (ids) => endedAmong(database.db, ids));
  if (folders > 0) logger.warn('folders of ended runs were removed', { folders });
}

/** Kills what is left of a run just found lost, whose scheduler may have been on this machine. */
export async function killLeftovers(
  { config, logger }: Pick<Sweeper, 'config' | 'logger'>,
  run: { id: string; adapter_type: string },
): Promise<void> {
  const { runs_as, container } = adapterTraits(run.adapter_type);
  if (runs_as !== 'program') return;
  const killed = await killMarked(run.id);
  if (container) {
    const engine = { cli: config.container_cli, cli_env: engineEnvironment() };
    await removeRunContainers(engine, run.id);
  }
  if (killed > 0) logger.warn('processes of a lost run were killed', { run_id: run.id, processes: killed });
}

/** Runs all sweeps at boot. Never rejects: the timers repeat them. */
export async function sweepMachine(sweeper: Sweeper): Promise<void> {
  try {
    await Promise.all([sweepProcesses(sweeper), sweepContainers(sweeper), sweepFiles(sweeper)]);
  } catch (err) {
    sweeper.logger.warn('could not check this machine for leftovers of earlier runs', { error: err });
  }
}

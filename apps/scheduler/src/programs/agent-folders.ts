import { mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { assertHomeDir, homeOf } from '@acp/core';
import type { AgentPlace } from '@acp/core';
import { isInsideFolder, ServiceError } from '@acp/kernel';
import type { Config } from '@acp/kernel';
import { RunFailure } from '../execution/run-failure.ts';

/** Where an agent's programs live and work; both exist. */
export interface AgentFolders {
  home: string;
  cwd: string;
}

const WORK = 'work';
const TEMP = '.service-tmp';

/**
 * Makes the folders of a run. The home is checked now, links followed: what it was when it was configured says nothing
 * about today (decisions 7.32). A run that goes on from a session works where that one did, any other in a folder of its
 * own. Throws RunFailure `config` for a home outside of the company's folders.
 */
export async function makeFolders(
  config: Pick<Config, 'home' | 'home_roots'>,
  agent_id: string,
  place: AgentPlace,
  run_id: string,
): Promise<AgentFolders> {
  const home = homeOf(config.home, agent_id, place);
  const rules = { service_home: config.home, assigned: config.home_roots };
  const check = async () => {
    try {
      await assertHomeDir(home, place.company, rules);
    } catch (err) {
      if (err instanceof ServiceError) throw new RunFailure('config', err.message);
      throw err;
    }
  };
  await check();
  // Nobody else of this machine looks in.
  await mkdir(join(home, TEMP), { recursive: true, mode: 0o700 });
  await check();
  const left = place.session?.cwd;
  const cwd = left !== undefined && (await isInsideFolder(left, [home])) ? left : join(home, WORK, run_id);
  await mkdir(cwd, { recursive: true, mode: 0o700 });
  if (!(await isInsideFolder(cwd, [home])))
    throw new RunFailure('config', 'the working folder leads out of the agent’s home');
  return { home, cwd };
}

/** A folder that the run left empty says nothing to anybody. */
export async function dropIfEmpty({ cwd }: AgentFolders): Promise<void> {
  await rmdir(cwd).catch(() => undefined);
}

export async function dropFolder({ cwd }: AgentFolders): Promise<void> {
  await rm(cwd, { recursive: true, force: true });
}

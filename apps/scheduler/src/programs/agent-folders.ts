import { mkdir } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { assertHome, companyFolders } from '@acp/core';
import type { AgentPlace } from '@acp/core';
import {
  dropIfEmpty,
  dropTree,
  ensureFolders,
  isInsideFolder,
  realPlace,
  ServiceError,
  UnsafePlace,
} from '@acp/kernel';
import type { Config } from '@acp/kernel';
import { RunFailure } from '../execution/run-failure.ts';
import { HeldFolder } from './held-folder.ts';

/** Home and working directory of an agent's programs; both exist. */
export interface AgentFolders {
  /** Without links. */
  home: string;
  cwd: string;
  /** The home, kept open until `close` at the end of the run. */
  held: HeldFolder;
  /** The home ends with the run. */
  temporary?: true;
}

/** Folder in a home with one folder for each run that does not continue a session. */
export const WORK = 'work';
const TEMP = '.service-tmp';

/**
 * Creates the folders of a run and keeps the home open. The home is checked now, with links resolved: its state when it was
 * configured says nothing about today (decisions 7.32). A run that continues a session works in that session's folder, any
 * other in a new one, unless it has a workspace, whose path is set later. Throws RunFailure `config` for a home that the
 * agent may not have.
 */
export async function makeFolders(
  config: Pick<Config, 'home' | 'home_roots'>,
  agent_id: string,
  place: AgentPlace,
  run_id: string,
  in_workspace = false,
): Promise<AgentFolders> {
  const rules = { service_home: config.home, assigned: config.home_roots };
  return asConfigured(async () => {
    const home = await assertHome(agent_id, place, rules);
    // Not accessible to other users of this machine.
    await mkdir(home, { recursive: true, mode: 0o700 });
    const held = await HeldFolder.open(home);
    try {
      await ensureFolders(held.here, TEMP);
      if (in_workspace) return { home, cwd: home, held };
      const work = (await workOf(place, home)) ?? join(WORK, run_id);
      await ensureFolders(held.here, work);
      return { home, cwd: join(home, work), held };
    } catch (err) {
      await held.close();
      throw err;
    }
  });
}

/**
 * The folders of a run that only one person may see: in a home of its own. CLIs write conversations to their home, and in the
 * agent's, the next run could be told by anyone to read them.
 */
export async function makePrivateFolders(
  { home: service_home }: Pick<Config, 'home'>,
  { company_id, run_id }: { company_id: string; run_id: string },
): Promise<AgentFolders> {
  return asConfigured(async () => {
    const top = companyFolders(service_home, company_id).private_runs;
    await mkdir(join(top, run_id), { recursive: true, mode: 0o700 });
    const home = await realPlace(join(top, run_id));
    if (home === undefined) throw new UnsafePlace('it is not a folder');
    const held = await HeldFolder.open(home);
    try {
      const work = join(WORK, run_id);
      for (const folder of [TEMP, work]) await ensureFolders(held.here, folder);
      return { home, cwd: join(home, work), held, temporary: true };
    } catch (err) {
      await held.close();
      throw err;
    }
  });
}

/** The session's folder within the home; undefined if it is elsewhere or there is no session. */
async function workOf({ session }: AgentPlace, home: string): Promise<string | undefined> {
  if (session === null || !(await isInsideFolder(session.cwd, [home]))) return undefined;
  const real = await realPlace(session.cwd);
  return real === undefined ? undefined : relative(home, real);
}

/** Reports what is wrong with a home, worded for the agent's owner. */
export async function asConfigured<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    if (err instanceof UnsafePlace) throw new RunFailure('config', `the agent’s home: ${err.message}`);
    if (err instanceof ServiceError && err.kind === 'invalid') throw new RunFailure('config', err.message);
    throw err;
  }
}

/**
 * Releases the folders. A working folder that belongs to no session is deleted if the run left it empty, since it is of no
 * use to anyone. Never rejects.
 */
export async function releaseFolders(
  { home, cwd, held, temporary }: AgentFolders,
  session_cwd?: string,
): Promise<void> {
  if (temporary) {
    await held.close();
    return dropTree(dirname(home), basename(home));
  }
  if (session_cwd !== cwd && cwd !== home) await dropIfEmpty(held.here, relative(home, cwd));
  await held.close();
}

/** Removes the folders of a test, whose working folder no run will continue. Never rejects. */
export async function discardFolders({ home, cwd, held }: AgentFolders): Promise<void> {
  await dropTree(held.here, relative(home, cwd));
  await held.close();
}

import { mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { assertHome } from '@acp/core';
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

/** Where an agent's programs live and work; both exist. */
export interface AgentFolders {
  /** Without links. */
  home: string;
  cwd: string;
  /** The home, open until the run has ended: `close`. */
  held: HeldFolder;
}

/** Below a home: a folder for each run that does not go on from a session. */
export const WORK = 'work';
const TEMP = '.service-tmp';

/**
 * Makes the folders of a run and holds the home open. It is checked now, links followed: what it was when it was configured
 * says nothing about today (decisions 7.32). A run that goes on from a session works where that one did, any other in a
 * folder of its own; one with a workspace in that, whose path comes later. Throws RunFailure `config` for a home that is not the agent's to have.
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
    // Nobody else of this machine looks in.
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

/** The session's folder below the home; undefined where it lies elsewhere, or there is none. */
async function workOf({ session }: AgentPlace, home: string): Promise<string | undefined> {
  if (session === null || !(await isInsideFolder(session.cwd, [home]))) return undefined;
  const real = await realPlace(session.cwd);
  return real === undefined ? undefined : relative(home, real);
}

/** What is wrong with a home in words for the agent's owner. */
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
 * Ends the use of the folders. A working folder that is no session's goes where the run left it empty: it says nothing to
 * anybody. Never rejects.
 */
export async function releaseFolders({ home, cwd, held }: AgentFolders, session_cwd?: string): Promise<void> {
  if (session_cwd !== cwd && cwd !== home) await dropIfEmpty(held.here, relative(home, cwd));
  await held.close();
}

/** Of a test, whose working folder nobody goes on from. Never rejects. */
export async function discardFolders({ home, cwd, held }: AgentFolders): Promise<void> {
  await dropTree(held.here, relative(home, cwd));
  await held.close();
}

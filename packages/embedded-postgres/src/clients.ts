import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isStillRunning, runningProcess } from './processes.ts';

/** Registers a user of the server, so that the last one to leave stops it. Accessed only under the folder's lock. */
export async function registerClient(clients: string): Promise<string> {
  const self = await runningProcess(process.pid);
  // Identifies a handle rather than a process: one process may have two.
  const entry = path.join(clients, `${process.pid}-${randomBytes(4).toString('hex')}`);
  await writeFile(entry, self?.started ?? '', { mode: 0o600 });
  return entry;
}

export async function unregisterClient(entry: string): Promise<void> {
  await rm(entry, { force: true });
}

/** Counts live ones; entries of processes that died are removed. */
export async function countClients(clients: string): Promise<number> {
  let alive = 0;
  for (const name of await readdir(clients)) {
    const pid = Number(name.split('-')[0]);
    const started = await readFile(path.join(clients, name), 'utf8');
    if (await isStillRunning({ pid, started })) alive += 1;
    else await rm(path.join(clients, name), { force: true });
  }
  return alive;
}

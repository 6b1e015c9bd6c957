/** The worker's identity: its state folder, its key, and the guarantee that no other process uses them. */
import { chmod, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createValidator, WorkerKeyFile } from '@acp/contract';
import { makeHomeFolder, sha256Hex } from '@acp/kernel';
import { writeDurably } from './durable-file.ts';

const KEY_FILE = 'key.json';
const MARK_LENGTH = 16;
const readKeyFile = createValidator(WorkerKeyFile, KEY_FILE);

export interface Identity {
  /** Absolute, and private. */
  folder: string;
  /** The key to authenticate with. */
  key: string;
  /** Stores the key issued at registration. */
  keep(key: string): Promise<void>;
  release(): void;
}

/**
 * Workers on one machine may share SERVICE_HOME: each has its own folder, derived from service, key and name. Throws if another
 * process already is this worker: heartbeats of one would make the service consider the other's tasks lost.
 */
export async function openIdentity(settings: {
  home: string;
  server_url: string;
  worker_key: string;
  name: string;
}): Promise<Identity> {
  const { home, server_url, worker_key, name } = settings;
  const mark = sha256Hex(JSON.stringify([server_url, worker_key, name])).slice(0, MARK_LENGTH);
  const folder = join(home, 'workers', mark);
  await makeHomeFolder(folder, 0o700);
  await chmod(folder, 0o700);
  const lock = await claimAlone(sha256Hex(folder).slice(0, MARK_LENGTH));
  const file = join(folder, KEY_FILE);
  const stored = await readFile(file, 'utf8').catch(() => null);
  return {
    folder,
    key: stored === null ? worker_key : readKeyFile(JSON.parse(stored)).api_key,
    keep: async (api_key) => writeDurably(file, JSON.stringify({ api_key })),
    release: () => lock?.close(),
  };
}

/** A name that is released when the process ends, however it ends. Null on systems without such names. */
async function claimAlone(mark: string): Promise<Server | null> {
  if (process.platform !== 'linux') return null;
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', (err: NodeJS.ErrnoException) => {
      if (err.code === 'EADDRINUSE')
        reject(
          new Error(
            'this worker is already running in another process with the same SERVICE_HOME, key and name',
          ),
        );
      else resolve(null);
    });
    server.listen(`\0service-worker-${mark}`, () => {
      server.unref();
      resolve(server);
    });
  });
}

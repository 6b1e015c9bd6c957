/** Who the worker is: the folder of its state, its key, and that no other process is it. */
import { chmod, mkdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createValidator, WorkerKeyFile } from '@acp/contract';
import { sha256Hex } from '@acp/kernel';
import { writeDurably } from './durable-file.ts';

const KEY_FILE = 'key.json';
const MARK_LENGTH = 16;
const readKeyFile = createValidator(WorkerKeyFile, KEY_FILE);

export interface Identity {
  /** Absolute, for nobody else's eyes. */
  folder: string;
  /** The key to come with. */
  key: string;
  /** Keeps the key that the service has given at the registration. */
  keep(key: string): Promise<void>;
  release(): void;
}

/**
 * Workers of one machine may share SERVICE_HOME: each has a folder by its service, key and name. Throws where another
 * process is this worker already: the service would take the tasks of one for lost by the heartbeats of the other.
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
  await mkdir(folder, { recursive: true, mode: 0o700 });
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

/** A name that ends with the process, however that ends. Null on systems without such names. */
async function claimAlone(mark: string): Promise<Server | null> {
  if (process.platform !== 'linux') return null;
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', (err: NodeJS.ErrnoException) => {
      if (err.code === 'EADDRINUSE')
        reject(new Error('another process is this worker already: same SERVICE_HOME, key and name'));
      else resolve(null);
    });
    server.listen(`\0service-worker-${mark}`, () => {
      server.unref();
      resolve(server);
    });
  });
}

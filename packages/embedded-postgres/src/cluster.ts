import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { unavailable } from '@acp/kernel';
import { dataArgument } from './account.ts';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import type { Folder } from './folder.ts';
import { pollUntil, postgresProcessesIn, sendSignal } from './processes.ts';

/** How to reach the server; kept across restarts, so that a URL remains valid. */
export interface Connection {
  superuser: string;
  password: string;
  /** 0 until a port is chosen. */
  port: number;
}

/** Creates the cluster if there is none. Throws if the data belong to another major version, or the password is lost. */
export async function ensureCluster(
  folder: Folder,
  binaries: Binaries,
  account: Account,
  superuser: string,
): Promise<Connection> {
  const found = await readFile(path.join(folder.data, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (found === undefined) {
    const leftover = await stat(folder.data).catch(() => undefined);
    if (leftover !== undefined)
      throw unavailable(`${folder.data} is not a PostgreSQL data folder: move it away, or set DATABASE_URL`);
    return createCluster(folder, binaries, account, superuser);
  }
  const major = binaries.version.split('.')[0];
  if (found.trim() !== major) {
    throw unavailable(
      `${folder.data} was made by PostgreSQL ${found.trim()}, the embedded one is ${binaries.version}: ` +
        'dump it with its own version and restore the dump, or set DATABASE_URL',
    );
  }
  return readConnection(folder);
}

export async function readConnection(folder: Folder): Promise<Connection> {
  const text = await readFile(folder.connection, 'utf8').catch((cause: unknown) => {
    throw unavailable(
      `can't read ${folder.connection}, which holds the database's password: restore it, or set DATABASE_URL`,
      cause,
    );
  });
  const connection: Connection = JSON.parse(text);
  return connection;
}

export async function writeConnection(folder: Folder, connection: Connection): Promise<void> {
  const writing = `${folder.connection}.new`;
  await rm(writing, { force: true });
  await writeFile(writing, `${JSON.stringify(connection)}\n`, { mode: 0o600 });
  await rename(writing, folder.connection);
}

const END_MS = 5000;

/**
 * Built under another name until complete, so that an interrupted start leaves nothing that looks like data. If it was killed,
 * what it had started is still writing there.
 */
async function createCluster(
  folder: Folder,
  binaries: Binaries,
  account: Account,
  superuser: string,
): Promise<Connection> {
  const connection = { superuser, password: randomBytes(32).toString('base64url'), port: 0 };
  const creating = `${folder.data}.new`;
  await pollUntil(async () => {
    const left = await postgresProcessesIn(creating);
    for (const { pid } of left) sendSignal(pid, 'SIGKILL');
    return left.length === 0;
  }, END_MS);
  await rm(creating, { recursive: true, force: true });
  await mkdir(creating, { mode: 0o700 });
  if (account.uid !== undefined && account.gid !== undefined) await chown(creating, account.uid, account.gid);
  await initialise(binaries, account, creating, connection);
  await writeConnection(folder, connection);
  await rename(creating, folder.data);
  return connection;
}

async function initialise(
  binaries: Binaries,
  account: Account,
  data: string,
  connection: Connection,
): Promise<void> {
  const passwordFile = await openPasswordFile(`${data}.password`, connection.password, account);
  const settings = [
    'max_connections=200',
    'shared_buffers=128MB',
    'timezone=UTC',
    'log_timezone=UTC',
    'log_checkpoints=off',
  ];
  const args = [
    `--pgdata=${dataArgument(account, data)}`,
    `--username=${connection.superuser}`,
    '--pwfile=/proc/self/fd/0',
    '--auth=scram-sha-256',
    // Without these, an unset LANG results in SQL_ASCII.
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...settings.map((setting) => `--set=${setting}`),
  ];
  try {
    const child = spawn(binaries.initdb, args, {
      ...account,
      cwd: data,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      stdio: [passwordFile.fd, 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0)
      throw unavailable(
        `initdb ended with ${code}; set DATABASE_URL to use another PostgreSQL\n${output.slice(-2000)}`,
      );
  } finally {
    await passwordFile.close();
  }
}

// An open file without a name: never on disk for longer than this call, and readable by the server's account even if that
// can't traverse the path to the folder.
async function openPasswordFile(
  file: string,
  password: string,
  account: Account,
): Promise<Awaited<ReturnType<typeof open>>> {
  await rm(file, { force: true });
  await writeFile(file, `${password}\n`, { mode: 0o600, flag: 'wx' });
  const handle = await open(file, 'r');
  await rm(file);
  if (account.uid !== undefined && account.gid !== undefined) await handle.chown(account.uid, account.gid);
  return handle;
}

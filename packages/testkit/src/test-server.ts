import { createHash, randomBytes } from 'node:crypto';
import { access, constants, mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { jobCatalogue } from '@acp/contract';
import { migrate, migrationsFolder } from '@acp/db';
import { createLogger } from '@acp/kernel';
import type { Logger } from '@acp/kernel';
import { Client } from 'pg';

/** Where this run's databases are; passed to jest's workers in the environment. */
export interface TestServer {
  /** URL of a superuser (or database creator), naming the maintenance database. */
  admin_url: string;
  template: string;
  /** Prefix of every database name of this run, so that two runs on one server don't collide. */
  prefix: string;
  /** The data directory is in memory. */
  in_memory: boolean;
  /** Pid of a server that this run started. */
  pid?: number;
}

const ENVIRONMENT_KEY = 'ACP_TEST_SERVER';
// Two runs on one external server must not build the same template at the same time. Any number will do.
const TEMPLATE_LOCK = 7_302_118;
/** Space a run may use: a dozen databases of 15 to 60 MB, and the WAL. */
const ROOM_BYTES = 2 * 2 ** 30;

let stopRunning: (() => Promise<void>) | undefined;

/** Logs errors only, unless TEST_LOG_LEVEL says otherwise. */
export function testLogger(): Logger {
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  const level = levels.find((each) => each === process.env.TEST_LOG_LEVEL) ?? 'error';
  return createLogger({ level, format: 'pretty', role: 'test' });
}

/**
 * Starts one PostgreSQL for a test run: `TEST_DATABASE_URL` if set, else an embedded one in a temporary folder that shuts
 * down with this process however it dies. The template database contains the schema.
 * @param options `durable`: commits are flushed to disk as in production, for time measurements.
 */
export async function startTestServer(options: { durable?: boolean } = {}): Promise<TestServer> {
  const external = process.env.TEST_DATABASE_URL;
  const server = external
    ? { url: external, in_memory: false, pid: undefined, stop: async () => {} }
    : await startEmbedded(options);
  try {
    const template = await buildTemplate(server.url);
    const prefix = `test_${randomBytes(4).toString('hex')}_`;
    const { in_memory, pid } = server;
    const info = { admin_url: server.url, template, prefix, in_memory, pid };
    process.env[ENVIRONMENT_KEY] = JSON.stringify(info);
    stopRunning = async () => {
      // The template stays on an external server: the next run with the same migrations starts from it.
      if (external) await dropDatabases(info);
      await server.stop();
    };
    return info;
  } catch (err) {
    await server.stop();
    throw err;
  }
}

export async function stopTestServer(): Promise<void> {
  await stopRunning?.();
  stopRunning = undefined;
}

export function currentTestServer(): TestServer {
  const info = process.env[ENVIRONMENT_KEY];
  if (info === undefined)
    throw new Error('no test server: jest starts it in globalSetup, scripts by startTestServer()');
  const server: TestServer = JSON.parse(info);
  return server;
}

export function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

export async function onAdminConnection<T>(
  adminUrl: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ connectionString: adminUrl, application_name: 'testkit' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function startEmbedded({
  durable = false,
}: {
  durable?: boolean;
}): Promise<{ url: string; in_memory: boolean; pid: number; stop(): Promise<void> }> {
  // Loaded here and not at the top: every test file imports this module, but only one process of the run starts the server.
  const { startEmbeddedPostgres } = await import('@acp/embedded-postgres');
  const memory = durable ? undefined : await roomInMemory();
  const folder = await mkdtemp(path.join(memory ?? tmpdir(), 'acp-test-'));
  try {
    const server = await startEmbeddedPostgres({
      data_dir: folder,
      logger: testLogger(),
      throwaway: true,
      durable,
    });
    const { url, pid } = server;
    return { url, pid, in_memory: memory !== undefined, stop: async () => server.stop() };
  } catch (err) {
    await rm(folder, { recursive: true, force: true });
    throw err;
  }
}

/**
 * A clone is a thousand small files, and hundreds are created and dropped: in memory that takes a fifth of the CPU time
 * of a disk file system. Containers often have 64 MB there, other systems nothing.
 */
async function roomInMemory(): Promise<string | undefined> {
  const place = '/dev/shm';
  try {
    const { bavail, bsize } = await statfs(place);
    if (bavail * bsize < ROOM_BYTES) return undefined;
    await access(place, constants.W_OK);
    return place;
  } catch {
    return undefined;
  }
}

/** Starts a server with a single database, including the schema, and no other clients: for tests that count WAL bytes. */
export async function startLoneServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = await startEmbedded({});
  try {
    await migrateAll(server.url);
    return server;
  } catch (err) {
    await server.stop();
    throw err;
  }
}

async function migrateAll(url: string): Promise<void> {
  const { migrateQueue } = await import('@acp/queue');
  await migrate({ url, logger: testLogger(), after: [migrateQueue] });
}

/** The name contains the hash of all migrations: another schema gets another template. */
async function buildTemplate(adminUrl: string): Promise<string> {
  const template = `test_template_${await migrationsHash()}`;
  await onAdminConnection(adminUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [template]);
    if (rowCount !== 0) return;
    // Named differently until it is complete, so a run that dies halfway leaves no partial template behind.
    const building = `${template}_building`;
    await client.query(`drop database if exists ${building} with (force)`);
    await client.query(`create database ${building} template template0`);
    await migrateAll(databaseUrl(adminUrl, building));
    await client.query(`alter database ${building} rename to ${template}`);
    // A connection to the template would make `create database … template` fail.
    await client.query(`alter database ${template} allow_connections false`);
  });
  return template;
}

async function migrationsHash(): Promise<string> {
  const queue = path.resolve(import.meta.dirname, '../../queue/package.json');
  const hash = createHash('sha256');
  // pg-boss adds its own tables, depending on its version, and its queues are created from the catalogue.
  hash.update(await readFile(queue)).update(JSON.stringify(jobCatalogue));
  const files = (await readdir(migrationsFolder, { recursive: true }))
    .filter((file) => file.endsWith('.sql'))
    .toSorted();
  for (const file of files) hash.update(file).update(await readFile(path.join(migrationsFolder, file)));
  return hash.digest('hex').slice(0, 16);
}

async function dropDatabases(server: TestServer): Promise<void> {
  await onAdminConnection(server.admin_url, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1)',
      [server.prefix],
    );
    for (const { datname } of rows) await client.query(`drop database if exists "${datname}" with (force)`);
  });
}

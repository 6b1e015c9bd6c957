import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '@acp/db';
import { startEmbeddedPostgres } from '@acp/embedded-postgres';
import { createLogger } from '@acp/kernel';
import type { Logger } from '@acp/kernel';
import pg from 'pg';

/** Where this run's databases are; jest's workers get it by the environment. */
export interface TestServer {
  /** A superuser's (or database creator's) URL, naming the maintenance database. */
  admin_url: string;
  template: string;
  /** Begins the name of every database of this run, so that two runs on one server don't meet. */
  prefix: string;
}

export interface RunningTestServer extends TestServer {
  stop(): Promise<void>;
}

const ENVIRONMENT_KEY = 'ACP_TEST_SERVER';
// Two runs on one external server must not build the same template at once. Any number will do.
const TEMPLATE_LOCK = 7_302_118;

export function testLogger(): Logger {
  return createLogger({ level: process.env.TEST_LOG_LEVEL ?? 'error', format: 'pretty', role: 'test' });
}

/**
 * One PostgreSQL for a test run: `TEST_DATABASE_URL` if set, else an embedded one in a temporary folder that ends with
 * this process however that dies. The template database holds the schema.
 */
export async function startTestServer(): Promise<RunningTestServer> {
  const external = process.env.TEST_DATABASE_URL;
  const prefix = `test_${randomBytes(4).toString('hex')}_`;
  const server =
    external === undefined || external === ''
      ? await startEmbedded()
      : { url: external, stop: async () => {} };
  try {
    const template = await buildTemplate(server.url);
    const info: TestServer = { admin_url: server.url, template, prefix };
    process.env[ENVIRONMENT_KEY] = JSON.stringify(info);
    return {
      ...info,
      stop: async () => {
        // The template stays on an external server: the next run with the same migrations starts from it.
        if (external) await dropDatabases(info);
        await server.stop();
      },
    };
  } catch (err) {
    await server.stop();
    throw err;
  }
}

export function currentTestServer(): TestServer {
  const info = process.env[ENVIRONMENT_KEY];
  if (info === undefined)
    throw new Error('no test server: jest starts it in globalSetup, scripts by startTestServer()');
  return JSON.parse(info) as TestServer;
}

export function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

export async function onAdminConnection<T>(
  adminUrl: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: adminUrl, application_name: 'testkit' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function startEmbedded(): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'acp-test-'));
  try {
    return await startEmbeddedPostgres({ data_dir: folder, logger: testLogger(), throwaway: true });
  } catch (err) {
    await rm(folder, { recursive: true, force: true });
    throw err;
  }
}

/** The name holds the hash of all migrations: another schema is another template. */
async function buildTemplate(adminUrl: string): Promise<string> {
  const template = `test_template_${await migrationsHash()}`;
  await onAdminConnection(adminUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [template]);
    if (rowCount !== 0) return;
    // Under another name until it is complete: a run that dies half-way leaves no half template behind.
    const building = `${template}_building`;
    await client.query(`drop database if exists ${building} with (force)`);
    await client.query(`create database ${building} template template0`);
    await migrate({ url: databaseUrl(adminUrl, building), logger: testLogger() });
    await client.query(`alter database ${building} rename to ${template}`);
    // A connection to the template would make `create database … template` fail.
    await client.query(`alter database ${template} allow_connections false`);
  });
  return template;
}

async function migrationsHash(): Promise<string> {
  const root = path.resolve(import.meta.dirname, '../../..');
  const hash = createHash('sha256');
  // pg-boss brings migrations of its own: they change with its version only.
  hash.update(await readFile(path.join(root, 'packages/queue/package.json')));
  const folder = path.join(root, 'drizzle');
  const files = (await readdir(folder, { recursive: true }))
    .filter((file) => file.endsWith('.sql'))
    .toSorted();
  for (const file of files) hash.update(file).update(await readFile(path.join(folder, file)));
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

import { createListener, createNotifier, openDatabase } from '@acp/db';
import type { Database, Listener, Notifier } from '@acp/db';
import {
  currentTestServer,
  databaseUrl,
  onAdminConnection,
  startLoneServer,
  testLogger,
} from './test-server.ts';

export interface TestDatabase {
  name: string;
  url: string;
  database: Database;
  /** Connected on first use, like `notifier`; closed with the database. */
  readonly listener: Listener;
  /** Also set as `database.notifier` on first use: tests that need no signals open no connection for them. */
  readonly notifier: Notifier;
  close(): Promise<void>;
}

const opened = new Set<TestDatabase>();
const loneServers = new Set<{ stop(): Promise<void> }>();
let ofThisFile: Promise<TestDatabase> | undefined;

/**
 * This test file's database, cloned from the template on first use: no file sees another's rows, and within a file each
 * test creates its own company instead of cleaning up. Closed after the file's tests.
 */
export function testDatabase(): Promise<TestDatabase> {
  ofThisFile ??= clone(`worker_${process.env.JEST_WORKER_ID ?? '0'}`);
  return ofThisFile;
}

/** Creates another database, for tests that stop consumers, count rows of the whole instance or migrate. */
export async function cloneDatabase(label: string): Promise<TestDatabase> {
  if (!/^[a-z0-9_]{1,30}$/.test(label)) throw new Error(`a label is of a-z, 0-9 and _: ${label}`);
  return clone(`worker_${process.env.JEST_WORKER_ID ?? '0'}_${label}`);
}

/** Creates a database without a single table, as seen by a first start. */
export async function emptyDatabase(label: string): Promise<TestDatabase> {
  if (!/^[a-z0-9_]{1,30}$/.test(label)) throw new Error(`a label is of a-z, 0-9 and _: ${label}`);
  return clone(`worker_${process.env.JEST_WORKER_ID ?? '0'}_${label}`, 'template0');
}

/** Creates a database on its own server, which takes seconds: no other test writes to the same WAL. */
export async function loneDatabase(): Promise<TestDatabase> {
  const server = await startLoneServer();
  loneServers.add(server);
  return connect('service', server.url);
}

/** Closes what this file opened. Runs by itself around a test file (`before-file.ts`); scripts call it. */
export async function closeTestDatabases(): Promise<void> {
  ofThisFile = undefined;
  await Promise.all([...opened].map(async (each) => each.close()));
  await Promise.all([...loneServers].map(async (each) => each.stop()));
  loneServers.clear();
}

async function clone(label: string, template?: string): Promise<TestDatabase> {
  const server = currentTestServer();
  const name = `${server.prefix}${label}`;
  await onAdminConnection(server.admin_url, async (client) => {
    // The previous file run by this jest worker may have left one of that name.
    await client.query(`drop database if exists ${name} with (force)`);
    // Copies the files as they are if that costs no disk I/O, rather than page by page through the WAL.
    const strategy = server.in_memory ? 'strategy file_copy' : '';
    await client.query(`create database ${name} template ${template ?? server.template} ${strategy}`);
  });
  return connect(name, databaseUrl(server.admin_url, name));
}

function connect(name: string, url: string): TestDatabase {
  const logger = testLogger();
  const database = openDatabase({
    url,
    max: 10,
    application_name: 'test',
    logger,
    // Tests ask for more connections at once than there are, and wait for their turn however slow the machine is.
    connect_timeout_ms: 30_000,
    queue_timeout_ms: 60_000,
    // Sooner than a service would: planning was half of what PostgreSQL did in tests, and no connection lives for long.
    prepared_statements: true,
    prepared_after: 3,
  });
  let listener: Listener | undefined;
  let notifier: Notifier | undefined;
  const self: TestDatabase = {
    name,
    url,
    database,
    get listener() {
      return (listener ??= createListener({ url, logger }));
    },
    get notifier() {
      return (notifier ??= database.notifier = createNotifier({ url, logger }));
    },
    close: async () => {
      if (!opened.delete(self)) return;
      await Promise.all([listener?.close(), notifier?.close()]);
      await database.close();
    },
  };
  opened.add(self);
  return self;
}

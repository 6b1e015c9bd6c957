import { rmSync } from 'node:fs';
import { type Logger, unavailable } from '@acp/kernel';
import { Client } from 'pg';
import { chooseAccount } from './account.ts';
import { findBinaries } from './binaries.ts';
import { countClients, registerClient, unregisterClient } from './clients.ts';
import { ensureCluster, readConnection, writeConnection } from './cluster.ts';
import type { Connection } from './cluster.ts';
import { prepareFolder } from './folder.ts';
import type { Folder } from './folder.ts';
import { guardFolder } from './guard.ts';
import type { Guard } from './guard.ts';
import { withFolderLock } from './lock.ts';
import { freePort, LOOPBACK } from './port.ts';
import {
  clearRemains,
  findServer,
  hasEnded,
  launchServer,
  PortTakenError,
  shutDown,
  waitUntilReady,
} from './server.ts';
import type { Server } from './server.ts';
import { sendSignal } from './processes.ts';
import { ServerWatch } from './watch.ts';

export interface EmbeddedPostgresOptions {
  /** The folder for everything that belongs to the server; created if missing. */
  data_dir: string;
  /** 0, the default: any free port, chosen on the first start and kept as long as it stays free. */
  port?: number;
  logger: Logger;
  /** For a newly created cluster; an existing one keeps its own. */
  superuser?: string;
  /** For tests and demos: nothing survives a crash, and `data_dir` is removed when this process ends, however it ends. */
  throwaway?: boolean;
  /** Restart it on the same address if it dies while this process is using it. */
  watch?: boolean;
  /** Aborts the start; nothing is left running. */
  signal?: AbortSignal;
  /** For a throwaway server: writes still reach the disk, as in production. For measurements. */
  durable?: boolean;
}

export interface EmbeddedPostgres {
  /** URL of the database `service`, as superuser. */
  url: string;
  pid: number;
  /** Whether this process started the server, or took over one that no live process was using. */
  owned: boolean;
  /** To be called by every user, owner or not: the server stops with the last one. */
  stop(): Promise<void>;
  /** Instead of `stop`, or during it, if there is no time: the next start recovers as after a crash. */
  kill(): Promise<void>;
}

const DATABASE = 'service';
const PORT_ATTEMPTS = 5;

/**
 * Returns the server of `data_dir`: attaches to a live one, or starts it. Any number of processes may call this concurrently.
 * Throws an error with instructions if it can't be started.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const folder = await prepareFolder(options.data_dir);
  const guard = options.throwaway ? guardFolder(folder.root) : undefined;
  try {
    return await withFolderLock(folder.root, async () => {
      const begun = await attachOrStart(folder, options);
      const owned = !begun.found || (await countClients(folder.clients)) === 0;
      const client = await registerClient(folder.clients);
      return new RunningServer(folder, options, { ...begun, owned, client, guard });
    });
  } catch (err) {
    if (options.throwaway) rmSync(folder.root, { recursive: true, force: true });
    guard?.dismiss();
    throw err;
  }
}

interface Begun {
  server: Server;
  connection: Connection;
  found: boolean;
}

class RunningServer implements EmbeddedPostgres {
  readonly url: string;
  readonly owned: boolean;
  pid: number;
  readonly #folder: Folder;
  readonly #options: EmbeddedPostgresOptions;
  readonly #client: string;
  readonly #guard: Guard | undefined;
  readonly #watch: ServerWatch | undefined;
  #server: Server;
  #stopping: Promise<void> | undefined;

  constructor(
    folder: Folder,
    options: EmbeddedPostgresOptions,
    begun: Begun & { owned: boolean; client: string; guard: Guard | undefined },
  ) {
    this.#folder = folder;
    this.#options = options;
    this.#server = begun.server;
    this.#client = begun.client;
    this.#guard = begun.guard;
    this.url = connectionUrl(begun.connection, begun.server, DATABASE);
    this.pid = begun.server.pid;
    this.owned = begun.owned;
    this.#tell(begun);
    if (options.watch)
      this.#watch = new ServerWatch(
        () => this.#server,
        async () => this.#restart(),
        options.logger,
      );
  }

  async stop(): Promise<void> {
    return (this.#stopping ??= this.#leave());
  }

  async kill(): Promise<void> {
    void this.#watch?.stop();
    await unregisterClient(this.#client);
    if ((await countClients(this.#folder.clients)) === 0) sendSignal(this.#server.pid, 'SIGQUIT');
  }

  async #leave(): Promise<void> {
    await this.#watch?.stop();
    await leave(this.#folder, this.#server, this.#client, this.#options);
    this.#guard?.dismiss();
  }

  /** Under the lock: one of the processes that use the server starts it, the others find it running. */
  async #restart(): Promise<void> {
    const { port } = this.#server;
    await withFolderLock(this.#folder.root, async () => {
      const begun = await attachOrStart(this.#folder, { ...this.#options, port });
      this.#server = begun.server;
      this.pid = begun.server.pid;
      this.#tell(begun);
    });
  }

  #tell({ found, server: { pid, port } }: Begun): void {
    const message = found ? 'attached to the running embedded PostgreSQL' : 'embedded PostgreSQL started';
    this.#options.logger.info(message, { data_dir: this.#folder.root, pid, port });
  }
}

async function attachOrStart(folder: Folder, options: EmbeddedPostgresOptions): Promise<Begun> {
  const attached = await attach(folder);
  if (attached !== undefined) return { ...attached, found: true };
  const account = await chooseAccount(folder);
  const binaries = await findBinaries(folder, account);
  const connection = await ensureCluster(folder, binaries, account, options.superuser ?? 'postgres');
  await clearRemains(folder, options.logger);
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(options.port ?? 0, attempt === 1 ? connection.port : 0);
    const settings = {
      listen_addresses: LOOPBACK,
      port,
      unix_socket_directories: '',
      ...sizes(options),
      ...durability(options),
    };
    try {
      const server = await launchServer(folder, binaries.postgres, account, settings, options.signal);
      if (port !== connection.port) await writeConnection(folder, { ...connection, port });
      await ensureDatabase(connectionUrl(connection, server)).catch(async (err: unknown) => {
        await shutDown(folder, server, 'fast');
        throw err;
      });
      return { server, connection, found: false };
    } catch (err) {
      // Someone else may take a port between choosing it and listening on it.
      if (!(err instanceof PortTakenError) || options.port || attempt >= PORT_ATTEMPTS) throw err;
    }
  }
}

/** Undefined if no server is alive, or it was just shutting down. */
async function attach(folder: Folder): Promise<{ server: Server; connection: Connection } | undefined> {
  const server = await findServer(folder);
  if (server === undefined) return undefined;
  const connection = await readConnection(folder);
  try {
    await waitUntilReady(folder, server);
    await ensureDatabase(connectionUrl(connection, server));
    return { server, connection };
  } catch (err) {
    if (await hasEnded(server)) return undefined;
    throw err;
  }
}

function connectionUrl({ superuser, password }: Connection, { port }: Server, database = 'postgres'): string {
  return `postgres://${superuser}:${password}@${LOOPBACK}:${port}/${database}`;
}

async function choosePort(wanted: number, lastTime: number): Promise<number> {
  const port = await freePort(wanted || lastTime);
  if (port !== undefined) return port;
  const other = wanted === 0 ? await freePort(0) : undefined;
  if (other === undefined)
    throw unavailable(`port ${wanted} on ${LOOPBACK} is in use: choose another for the embedded PostgreSQL`);
  return other;
}

/**
 * For small machines. What does not fit into 16 MB of buffers is in the machine's page cache: under mixed load that is one of 1,000
 * pages. Without processes for reading, backends read themselves, one page at a time. Room for locks is kept for each possible
 * connection (5 MB for 200 of them), though nothing here is serializable; and nobody subscribes to this server. Throwaway servers
 * keep PostgreSQL's own sizes, like the servers that tests and measurements stand for.
 */
function sizes({ throwaway }: EmbeddedPostgresOptions): Record<string, string> {
  if (throwaway) return {};
  return {
    shared_buffers: '16MB',
    io_method: 'sync',
    io_max_concurrency: '1',
    max_connections: '100',
    max_pred_locks_per_transaction: '10',
    max_logical_replication_workers: '0',
  };
}

function durability({ throwaway, durable }: EmbeddedPostgresOptions): Record<string, string> {
  if (!throwaway || durable) return {};
  // The folder may be in memory, so the WAL must not grow to its usual gigabyte.
  return { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_wal_size: '256MB' };
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url, application_name: 'embedded-postgres' });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}

async function leave(
  folder: Folder,
  server: Server,
  client: string,
  options: EmbeddedPostgresOptions,
): Promise<void> {
  await withFolderLock(folder.root, async () => {
    await unregisterClient(client);
    if ((await countClients(folder.clients)) > 0) return;
    await shutDown(folder, server, options.throwaway ? 'immediate' : 'fast');
    if (options.throwaway) rmSync(folder.root, { recursive: true, force: true });
    options.logger.info('embedded PostgreSQL stopped', { data_dir: folder.root, pid: server.pid });
  });
}

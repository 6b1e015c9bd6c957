/** The tables of a schema from a backup's point of view: what to copy, and in which order to restore it. */
import { closeConnection, watchForSilence } from '@acp/db';
import type { Client } from 'pg';
import { Client as PgClient } from 'pg';

interface Table {
  name: string;
  columns: string[];
}

/** Tables of the service without those of the queue: sweeps enqueue lost jobs again. */
export async function listTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    group by c.relname order by c.relname`);
  return rows;
}

/** Sorts referenced tables before those that refer to them. @throws Error if references form a cycle */
export async function inOrder(client: Client, tables: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ child: string; parent: string }>(`
    select distinct child.relname as child, parent.relname as parent
    from pg_constraint f
    join pg_class child on child.oid = f.conrelid join pg_class parent on parent.oid = f.confrelid
    where f.contype = 'f' and f.conrelid <> f.confrelid and child.relnamespace = 'public'::regnamespace`);
  const done = new Set<string>();
  while (done.size < tables.length) {
    const ready = tables.filter(
      (name) =>
        !done.has(name) &&
        rows.every(({ child, parent }) => child !== name || done.has(parent) || !tables.includes(parent)),
    );
    if (ready.length === 0) throw new Error('tables refer to each other in a circle');
    for (const name of ready) done.add(name);
  }
  return [...done];
}

export interface Sequence {
  name: string;
  /** Null: never used. */
  last_value: string | null;
}

export async function listSequences(client: Client): Promise<Sequence[]> {
  const { rows } = await client.query<Sequence>(
    `select sequencename as name, last_value::text as last_value from pg_sequences where schemaname = 'public' order by 1`,
  );
  return rows;
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const CONNECT_MS = 10_000;

/**
 * Opens a separate connection without a statement timeout: a copy may take hours. It ends if the server freezes.
 * @param watch_after_ms how long it may be silent before the server is asked whether it is at work
 */
export async function connect(url: string, name: string, watch_after_ms?: number): Promise<Client> {
  const client = new PgClient({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  });
  // Pending statements receive the error; without a listener it would end the process.
  client.on('error', () => undefined);
  await client.connect();
  watchForSilence(client, url, watch_after_ms);
  await client.query(
    `set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = '60s'`,
  );
  return client;
}

/** Opens a connection as `connect` does, for as long as the work takes. */
export async function withConnection<T>(
  url: string,
  name: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connect(url, name);
  try {
    return await work(client);
  } finally {
    await closeConnection(client);
  }
}

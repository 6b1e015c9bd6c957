import type { BackupTable } from '@acp/contract';
import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { ArchiveWriter } from './archive-writer.ts';
import { inOrder, listSequences, listTables, quoted, type Sequence } from './tables.ts';

/** Starts the snapshot that all rows of the backup are read from. */
export async function beginSnapshot(client: Client): Promise<void> {
  await client.query('begin isolation level repeatable read read only');
  // The first statement that reads takes the snapshot.
  await client.query('select 1 from instance_settings limit 1');
}

/** Hashes of the applied migrations, and fingerprints of the keys needed to decrypt secrets. */
export async function describeDatabase(
  client: Client,
): Promise<{ migrations: string[]; encryption_keys: string[] }> {
  const migrations = await client.query<{ hash: string }>(
    'select hash from drizzle.__drizzle_migrations order by created_at',
  );
  const keys = await client.query<{ value: string[] }>(
    `select value from instance_settings where key = 'encryption_keys'`,
  );
  return { migrations: migrations.rows.map(({ hash }) => hash), encryption_keys: keys.rows[0]?.value ?? [] };
}

const finished: Partial<Record<string, string>> = {
  status: `'succeeded'`,
  phase: 'null',
  finished_at: 'clock_timestamp()',
};

/** This very backup is still running: a restored instance would take it for an interrupted one. */
function asFinished(column: string): string {
  const value = finished[column];
  return value === undefined
    ? quoted(column)
    : `case when status = 'running' then ${value} else ${quoted(column)} end`;
}

/** Writes every table as PostgreSQL's own COPY text, each as a series of entries below `database/<table>`. */
export async function dumpDatabase(
  client: Client,
  archive: ArchiveWriter,
): Promise<{ tables: BackupTable[]; sequences: Sequence[] }> {
  const tables: BackupTable[] = [];
  const columnsOf = new Map((await listTables(client)).map(({ name, columns }) => [name, columns]));
  // In the order in which they can be restored.
  for (const name of await inOrder(client, [...columnsOf.keys()])) {
    const columns = columnsOf.get(name)!;
    const list = columns.map((column) => (name === 'backups' ? asFinished(column) : quoted(column)));
    const copy = client.query(copyTo(`copy (select ${list.join(', ')} from ${quoted(name)}) to stdout`));
    const { bytes, sha256 } = await archive.chunked(`database/${name}`, copy);
    tables.push({ name, columns, bytes, sha256 });
  }
  return { tables, sequences: await listSequences(client) };
}

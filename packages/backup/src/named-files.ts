/** The files that rows name, and which of them are missing. */
import { storedFileTables } from '@acp/db';
import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { CopyRows } from './copy-rows.ts';
import { KeySet } from './key-set.ts';
import { quoted } from './tables.ts';

const NAMED = 10;
/** How many of those that are missing are looked for: enough to meet with one of a page that a store did not list. */
const SOUGHT = 1000;

export interface NamedFile {
  /** The table of the row. */
  table: string;
  key: string;
}

/** Files that are missing: how many, and the first few. */
export interface MissingFiles {
  count: number;
  named: NamedFile[];
}

export const noneMissing = (): MissingFiles => ({ count: 0, named: [] });

export function noteMissing(missing: MissingFiles, file: NamedFile): void {
  missing.count += 1;
  if (missing.named.length < NAMED) missing.named.push(file);
}

/** Keys of all files that rows name. */
export async function namedKeys(client: Client): Promise<KeySet> {
  const keys = new KeySet();
  for await (const { key } of namedFiles(client)) keys.add(key);
  return keys;
}

/** Those of the keys that a row names, and some of them at random. */
export async function namedAmong(
  client: Client,
  keys: KeySet,
): Promise<{ missing: MissingFiles; some: string[] }> {
  const missing = noneMissing();
  const some: string[] = [];
  for await (const file of namedFiles(client)) {
    if (!keys.has(file.key)) continue;
    noteMissing(missing, file);
    // Each is in it as likely as any other.
    const place = some.length < SOUGHT ? some.length : Math.floor(Math.random() * missing.count);
    if (place < SOUGHT) some[place] = file.key;
  }
  return { missing, some };
}

async function* namedFiles(client: Client): AsyncGenerator<NamedFile> {
  const selects = storedFileTables.map((name) => `select '${name}', storage_key from ${quoted(name)}`);
  const rows = new CopyRows();
  const pieces: AsyncIterable<Buffer> = client.query(
    copyTo(`copy (${selects.join(' union all ')}) to stdout`),
  );
  for await (const piece of pieces)
    for (const [table = '', key = ''] of rows.complete(piece)) yield { table, key };
}

/** Those that the store has lost, for operators. */
export function missingInWords({ count, named }: MissingFiles): string {
  const names = named.map(({ table, key }) => `${key} (${table})`).join(', ');
  const more = count > named.length ? `, and ${count - named.length} more` : '';
  return `rows name files that the store does not have (${count}): ${names}${more}`;
}

import type { Database } from '@acp/db';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Pool, QueryConfig } from 'pg';

interface Explained {
  'QUERY PLAN': [{ Plan: Record<string, number> }];
}

/**
 * How many pages of tables and indexes PostgreSQL reads for the statements of some reading, each of which it executes once more. It
 * is the same on every machine, while a time is not.
 */
export async function pagesRead(
  { pool }: Database,
  read: (db: Database['db']) => Promise<unknown>,
): Promise<number> {
  const sent: { text: string; values: unknown[] }[] = [];
  const query = async (statement: QueryConfig, values: unknown[] = []) => {
    sent.push({ text: statement.text, values });
    return pool.query(statement, values);
  };
  await read(drizzle({ client: { query } as unknown as Pool }));
  if (sent.length === 0) throw new Error('no statement was sent');
  let pages = 0;
  for (const { text, values } of sent) {
    const { rows } = await pool.query<Explained>(`explain (analyze, buffers, format json) ${text}`, values);
    const { Plan: plan } = rows[0]!['QUERY PLAN'][0];
    pages += plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!;
  }
  return pages;
}

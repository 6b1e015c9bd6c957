import { Client, DatabaseError } from 'pg';
import { closeConnection } from './close-connection.ts';

/**
 * Asks on a new connection whether the server is at work on what a session was sent. False if the server does not answer,
 * doesn't know the session, or is done with its statement, so that the answer got lost.
 * @param session null: whether the server answers at all
 * @param within_ms for connecting, and again for the answer
 */
export async function isAtWork(url: string, session: number | null, within_ms: number): Promise<boolean> {
  const client = new Client({
    connectionString: url,
    application_name: 'watch',
    connectionTimeoutMillis: within_ms,
    query_timeout: within_ms,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    if (session === null) return (await client.query('select 1')).rows.length === 1;
    const { rows } = await client.query<{ idle: boolean }>(
      `select coalesce(state, '') like 'idle%' as idle from pg_stat_activity where pid = $1`,
      [session],
    );
    return rows[0]?.idle === false;
  } catch (err) {
    // Whoever refuses is there: the server may have no connection to spare. Errors of class 08 are a pooler's about its server.
    return err instanceof DatabaseError && err.code?.startsWith('08') !== true;
  } finally {
    await closeConnection(client);
  }
}

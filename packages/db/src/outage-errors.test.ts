/** What a database, a pooler in front of it and the driver say while it is away: callers get 503, not 500. */
import { afterEach, expect, it } from '@jest/globals';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { sql } from 'drizzle-orm';
import { asServiceError } from './errors.ts';
import { openDatabase } from './pool.ts';
import { transaction } from './transaction.ts';

const unavailable = { kind: 'unavailable', message: 'database unavailable', retry_after_sec: 2 };
const busy = { kind: 'unavailable', message: 'database busy', retry_after_sec: 2 };

// PgBouncer up to 1.18 has a single code of its own; later ones have more of class 08. It passes PostgreSQL's errors through.
it.each([
  ['08P01', 'server conn crashed?'],
  ['08P01', 'query_wait_timeout'],
  ['08P01', 'client_login_timeout (server down)'],
  ['08P01', 'server login has been failing, try again later (server_login_retry)'],
  ['08P01', 'pgbouncer cannot connect to server'],
  ['08P01', 'no more connections allowed (max_client_conn)'],
  ['08000', 'query_wait_timeout'],
  ['08006', 'server closed the connection unexpectedly'],
  ['53300', 'sorry, too many clients already'],
  ['57P01', 'terminating connection due to administrator command'],
  ['57P01', 'terminating connection due to unexpected postmaster exit'],
  ['57P02', 'terminating connection because of crash of another server process'],
  ['57P03', 'the database system is starting up'],
  ['57P05', 'terminating connection due to idle-session timeout'],
  ['25P03', 'terminating connection due to idle-in-transaction timeout'],
  ['25P04', 'terminating connection due to transaction timeout'],
  ['25006', 'cannot execute INSERT in a read-only transaction'],
  ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:5432'],
  ['ERR_STREAM_DESTROYED', 'Cannot call write after a stream was destroyed'],
  [undefined, 'Connection terminated unexpectedly'],
  [undefined, 'Connection terminated due to connection timeout'],
  [undefined, 'Client has encountered a connection error and is not queryable'],
  [undefined, 'timeout expired'],
])('%s %s: the database is unavailable', (code, message) => {
  const error = Object.assign(new Error(message), { code });
  expect(asServiceError(error)).toMatchObject(unavailable);
  // As drizzle wraps it.
  expect(asServiceError(new Error('Failed query', { cause: error }))).toMatchObject(unavailable);
});

it('a pooler refuses the parameters of a direct connection: the setting that is missing is named', () => {
  const refused = Object.assign(new Error('unsupported startup parameter: statement_timeout'), {
    code: '08P01',
  });
  const { message } = asServiceError(new Error('Failed query', { cause: refused }))!;
  expect(message).toBe('DATABASE_URL is a pooler’s: set DATABASE_DIRECT_URL to the server’s own');
});

it.each([
  ['53100', 'could not extend file: No space left on device'],
  ['53200', 'out of memory'],
  ['40P01', 'deadlock detected'],
  ['57014', 'canceling statement due to statement timeout'],
])('%s %s: the database is busy', (code, message) => {
  expect(asServiceError(Object.assign(new Error(message), { code }))).toMatchObject(busy);
});

it.each([
  ['42703', 'column does not exist'],
  ['25P02', 'current transaction is aborted'],
  ['23514', 'violates check constraint'],
])('%s %s: a fault of ours, which a repetition does not mend', (code, message) => {
  expect(asServiceError(Object.assign(new Error(message), { code }))).toBeNull();
});

let server: Server | undefined;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

it('a pooler that accepts, and waits for its server before it welcomes: the database is unavailable', async () => {
  server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  await new Promise<void>((listening) => void server!.listen(0, '127.0.0.1', listening));
  const url = `postgres://a@127.0.0.1:${(server.address() as AddressInfo).port}/a`;
  const options = { url, max: 1, application_name: 'test', connect_timeout_ms: 60 };
  // Whichever gives up first, the pool or its client.
  for (const queue_timeout_ms of [1000, 60]) {
    const database = openDatabase({ ...options, queue_timeout_ms });
    const write = transaction(database, async (tx) => tx.execute(sql`select 1`));
    await expect(write).rejects.toMatchObject(unavailable);
    const read = await database.db.execute(sql`select 1`).catch(asServiceError);
    expect(read).toMatchObject(unavailable);
    await database.close();
  }
});

import type { EventEmitter } from 'node:events';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Logger } from '@acp/kernel';
import { testDatabase, testLogger } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { isUniqueViolation, openDatabase, transaction } from './index.ts';
import type { Database, Tx } from './index.ts';
import type { DatabaseOptions } from './pool.ts';
import { OFTEN } from './statement-names.ts';

let url: string;
let opened: Database[] = [];

beforeAll(async () => {
  ({ url } = await testDatabase());
});

afterEach(async () => {
  await Promise.all(opened.map(async (database) => database.close()));
  opened = [];
});

function open(options: Partial<DatabaseOptions> = {}): Database {
  const database = openDatabase({ url, max: 1, application_name: 'pool-test', ...options });
  opened.push(database);
  return database;
}

const namedStatements = async (database: Database) => {
  const query = database.db.select({ one: sql<number>`1` }).from(sql`generate_series(1, 1)`);
  expect(await query.prepare('by_name').execute()).toEqual([{ one: 1 }]);
  const { rows } = await database.db.execute<{ name: string }>(sql`select name from pg_prepared_statements`);
  return rows;
};

const backend = async (database: Database) => {
  const { rows } = await database.db.execute(sql`select pg_backend_pid() as pid`);
  return rows;
};

describe('a database that is closed', () => {
  it('warns of no connection that its server ended first', async () => {
    const said: string[] = [];
    const logger = { ...testLogger(), warn: (message: string) => said.push(message) } as Logger;
    const database = openDatabase({ url, max: 1, application_name: 'pool-test', logger });
    const pool: EventEmitter = database.pool;
    const lose = () => pool.emit('error', new Error('terminated'));
    lose();
    await database.close();
    lose();
    expect(said).toEqual(['an idle database connection was lost']);
  });
});

describe('a database', () => {
  it('leaves no named statement in a session unless it is told to', async () => {
    expect(await namedStatements(open())).toEqual([]);
    expect(await namedStatements(open({ prepared_statements: true }))).toEqual([{ name: 'by_name' }]);
  });

  it('has no statement compiled, wherever a session is its own or a transaction says so', async () => {
    const setting = async (tx: Tx) => (await tx.execute<{ jit: string }>(sql`show jit`)).rows[0]?.jit;
    expect(await setting(open({ prepared_statements: true }).db)).toBe('off');
    expect(await transaction(open(), setting)).toBe('off');
  });

  it('prepares a statement with values once it comes often, and answers the same', async () => {
    const database = open({ prepared_statements: true });
    const double = async (n: number) => (await database.db.execute(sql`select ${n}::int * 2 as twice`)).rows;
    for (let n = 0; n < OFTEN; n += 1) expect(await double(n)).toEqual([{ twice: n * 2 }]);
    const { rows } = await database.db.execute(sql`select name, statement from pg_prepared_statements`);
    expect(rows).toEqual([{ name: 's1', statement: 'select $1::int * 2 as twice' }]);
  });

  it('after a rush, connections that hold many plans end; those in use or with few stay', async () => {
    const database = open({ prepared_statements: true, max: 2 });
    const often = async (text: string) => {
      for (let n = 0; n < OFTEN; n += 1) await database.db.execute(sql`${sql.raw(text)} ${n}::int`);
    };
    await often('select');
    const [light] = await backend(database);
    await database.rest();
    expect(await backend(database)).toEqual([light]);

    for (let n = 0; n < 25; n += 1) await often(`select ${n} +`);
    await transaction(database, async (tx) => {
      const [held] = (await tx.execute(sql`select pg_backend_pid() as pid`)).rows;
      await database.rest();
      expect((await tx.execute(sql`select pg_backend_pid() as pid`)).rows).toEqual([held]);
    });
    expect(await backend(database)).toEqual([light]);
    await database.rest();
    expect(await backend(database)).not.toEqual([light]);
  });

  it('a table changes under a prepared statement: it is planned anew on another connection', async () => {
    const database = open({ prepared_statements: true });
    const read = async () => database.db.execute(sql`select * from changing where n > ${0}`);
    await database.db.execute(sql`create table changing (n int)`);
    for (let count = 0; count < OFTEN; count += 1) await read();
    await database.db.execute(sql`alter table changing add column more text`);
    const { fields } = await read();
    expect(fields.map(({ name }) => name)).toEqual(['n', 'more']);
    await database.db.execute(sql`drop table changing`);
  });

  it('keeps its connection when a statement fails, and says which constraint it was', async () => {
    const database = open();
    const before = await backend(database);
    await database.db.execute(sql`create temporary table single (n int constraint only_one unique)`);
    await database.db.execute(sql`insert into single values (1)`);
    const failing = database.db.execute(sql`insert into single values (1)`);
    const err: unknown = await failing.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(isUniqueViolation(err)).toBe(true);
    expect(isUniqueViolation(err, 'only_one')).toBe(true);
    expect(isUniqueViolation(err, 'another')).toBe(false);
    expect(await backend(database)).toEqual(before);
  });

  it('replaces connections that were cut, for reads and for transactions', async () => {
    const database = open({ max: 2 });
    const killer = open();
    const cut = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'pool-test' and pid <> pg_backend_pid() and datname = current_database()`;
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([backend(database), backend(database)]);
      await killer.db.execute(cut);
      expect(await backend(database)).toHaveLength(1);
      await killer.db.execute(cut);
      const { rows } = await transaction(database, async (tx) => tx.execute(sql`select 1 as one`));
      expect(rows).toEqual([{ one: 1 }]);
    }
  });

  it('a transaction falls silent: its locks are freed, it fails as unavailable, and the next one works', async () => {
    // On a busy machine the last one, too, may stay silent for a few hundred milliseconds.
    const silent = open({ prepared_statements: true, idle_in_transaction_ms: 1000 });
    const other = open();
    await other.db.execute(sql`create table silent as select 1 as n`);
    const change = sql`update silent set n = n + 1`;
    const transacted = transaction(silent, async (tx) => {
      await tx.execute(change);
      // Blocks on the lock of the first transaction; only its end lets this one continue.
      await other.db.execute(change);
      await tx.execute(change);
    });
    await expect(transacted).rejects.toMatchObject({ kind: 'unavailable' });
    await transaction(silent, async (tx) => tx.execute(change));
    const { rows } = await other.db.execute(sql`select n from silent`);
    await other.db.execute(sql`drop table silent`);
    expect(rows).toEqual([{ n: 3 }]);
  });

  it('with all connections in use lets a burst wait for its turn, longer than for a connection', async () => {
    const database = open({ connect_timeout_ms: 1000, queue_timeout_ms: 30_000 });
    const slow = async () => transaction(database, async (tx) => tx.execute(sql`select pg_sleep(0.2)`));
    const all = await Promise.all(Array.from({ length: 8 }, slow));
    expect(all).toHaveLength(8);
  });

  it.each([true, false])(
    'ends statements and waits that take too long (named statements: %s)',
    async (named) => {
      const limits = { statement_timeout_ms: 80, lock_timeout_ms: 40, prepared_statements: named };
      const [one, other] = [open(limits), open(limits)];
      const busy = { kind: 'unavailable', message: 'database busy', retry_after_sec: 2 };
      const sleeping = transaction(one, async (tx) => tx.execute(sql`select pg_sleep(5)`));
      await expect(sleeping).rejects.toMatchObject(busy);
      const lock = sql`select pg_advisory_xact_lock(7)`;
      await transaction(one, async (tx) => {
        await tx.execute(lock);
        await expect(transaction(other, async (inner) => inner.execute(lock))).rejects.toMatchObject(busy);
      });
    },
  );

  it('connects although its process stood still for longer than the patience', async () => {
    const database = open({ connect_timeout_ms: 1000 });
    const asked = transaction(database, async (tx) => tx.execute(sql`select 1 as n`));
    // The connection has begun, and the timers are late once the process goes on.
    await new Promise(setImmediate);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    expect((await asked).rows).toEqual([{ n: 1 }]);
  });

  it('with all connections in use is unavailable after its patience', async () => {
    const database = open({ connect_timeout_ms: 30_000, queue_timeout_ms: 2000 });
    const ask = async (tx: Tx) => tx.execute(sql`select 1`);
    await transaction(database, async (tx) => {
      await ask(tx);
      const second = transaction(database, ask);
      await expect(second).rejects.toMatchObject({ kind: 'unavailable' });
      expect(database.poolStats()).toEqual({ max: 1, total: 1, idle: 0, acquired: 1, waiting: 0 });
    });
    expect(database.poolStats()).toMatchObject({ idle: 1, acquired: 0 });
  });
});

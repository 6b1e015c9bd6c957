import { beforeAll, describe, expect, it } from '@jest/globals';
import { invalid, ServiceError } from '@acp/kernel';
import { cloneDatabase, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { loneWrite, openDatabase, savepoint, signal, transaction } from './index.ts';
import type { Database, Tx } from './index.ts';

let test: TestDatabase;
const told: string[] = [];

beforeAll(async () => {
  test = await cloneDatabase('transaction');
  test.listener.on('jobs', (items) => told.push(...items));
  await test.listener.ready();
  await test.notifier.sequenceNow();
  await test.database.db.execute(sql`create table notebook (word text primary key)`);
});

const write = async (tx: Tx, word: string) => tx.execute(sql`insert into notebook (word) values (${word})`);
const has = async (word: string) => {
  const { rows } = await test.database.db.execute(sql`select 1 from notebook where word = ${word}`);
  return rows.length === 1;
};
/** One connection, one order: once this mark arrives, so has everything sent before it. */
const flushed = async (mark: string) => {
  test.notifier.push('jobs', [mark]);
  await waitFor(() => told.includes(mark));
};

describe('transaction', () => {
  it('tells its signals once, after its commit', async () => {
    let seenBeforeCommit = false;
    await transaction(test.database, async (tx) => {
      await write(tx, 'committed');
      signal(tx, 'jobs', 'once');
      signal(tx, 'jobs', 'once');
      await flushed('mark-1');
      seenBeforeCommit = told.includes('once');
    });
    await flushed('mark-2');
    expect(seenBeforeCommit).toBe(false);
    expect(told.filter((item) => item === 'once')).toHaveLength(1);
    expect(await has('committed')).toBe(true);
  });

  it('that throws leaves neither rows nor signals', async () => {
    const failing = transaction(test.database, async (tx) => {
      await write(tx, 'rolled back');
      signal(tx, 'jobs', 'dropped');
      throw invalid('no');
    });
    await expect(failing).rejects.toMatchObject({ kind: 'invalid', message: 'no' });
    await flushed('mark-3');
    expect(told).not.toContain('dropped');
    expect(await has('rolled back')).toBe(false);
  });

  it('with a failed savepoint keeps what is outside of it, and the signals too', async () => {
    await transaction(test.database, async (tx) => {
      signal(tx, 'jobs', 'outer');
      await write(tx, 'outer');
      const inner = savepoint(tx, async (part) => {
        signal(part, 'jobs', 'inner');
        await write(part, 'outer');
      });
      await expect(inner).rejects.toThrow('Failed query');
      await write(tx, 'after');
    });
    await flushed('mark-4');
    expect(told).toContain('outer');
    expect(told).not.toContain('inner');
    expect(await has('after')).toBe(true);
  });

  it('whose failed statement was swallowed does not pretend to have committed', async () => {
    const swallowing = transaction(test.database, async (tx) => {
      signal(tx, 'jobs', 'swallowed');
      await write(tx, 'swallowed');
      await write(tx, 'swallowed').catch(() => undefined);
    });
    await expect(swallowing).rejects.toThrow('failed before its commit');
    await flushed('mark-5');
    expect(told).not.toContain('swallowed');
  });

  it('costs its own statements, begin and commit; without statements nothing', async () => {
    const counted = async (database: Database, work: (tx: Tx) => Promise<unknown>) => {
      const before = database.statements();
      await transaction(database, work);
      return database.statements() - before;
    };
    const own = openDatabase({ url: test.url, max: 1, application_name: 'test', prepared_statements: true });
    expect(await counted(own, async (tx) => write(tx, 'counted'))).toBe(3);
    expect(await counted(test.database, async (tx) => write(tx, 'counted too'))).toBe(3);
    expect(await counted(own, async () => 'nothing')).toBe(0);
    await own.close();
  });

  it('that need not be durable says so for itself alone', async () => {
    const read = async (tx: Tx) =>
      (await tx.execute<{ waits: string }>(sql`select current_setting('synchronous_commit') as waits`))
        .rows[0]!.waits;
    const own = openDatabase({ url: test.url, max: 1, application_name: 'test' });
    await own.pool.query('set synchronous_commit to on');
    expect(await transaction(own, read, { durable: false })).toBe('off');
    expect(await transaction(own, read)).toBe('on');
    await own.close();
  });

  it('runs at read committed whatever the database says', async () => {
    const { rows } = await transaction(test.database, async (tx) =>
      tx.execute<{ isolation: string }>(sql`select current_setting('transaction_isolation') as isolation`),
    );
    expect(rows).toEqual([{ isolation: 'read committed' }]);
  });

  it('of one statement that writes is that statement alone, and done once more where its connection breaks', async () => {
    const before = test.database.statements();
    await loneWrite(test.database, sql`insert into notebook (word) values ('alone')`);
    expect(test.database.statements() - before).toBe(1);
    // A sequence also counts attempts that are rolled back.
    await test.database.db.execute(sql`create sequence attempts`);
    await loneWrite(
      test.database,
      sql`insert into notebook (word)
        select 'twice' from (select case nextval('attempts') when 1 then pg_terminate_backend(pg_backend_pid()) end as cut) c
        where cut is null`,
    );
    const { rows } = await test.database.db.execute(sql`select last_value::int as attempts from attempts`);
    expect(rows).toEqual([{ attempts: 2 }]);
    expect(await has('twice')).toBe(true);
    await expect(
      loneWrite(test.database, sql`insert into notebook (word) values (${'\u0000'})`),
    ).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('with a NUL character in a text answers invalid', async () => {
    const failing = transaction(test.database, async (tx) => write(tx, 'a\u0000b'));
    await expect(failing).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('without a database is unavailable, and says no more', async () => {
    const nowhere = openDatabase({
      url: 'postgres://nobody@127.0.0.1:1/none',
      max: 1,
      application_name: 'test',
      connect_timeout_ms: 150,
    });
    const failing = transaction(nowhere, async (tx) => write(tx, 'never'));
    await expect(failing).rejects.toEqual(expect.any(ServiceError));
    await expect(failing).rejects.toMatchObject({ kind: 'unavailable', message: 'database unavailable' });
    await nowhere.close();
  });
});

describe('signal', () => {
  it('outside of a transaction throws', () => {
    expect(() => signal(test.database.db, 'jobs', 'lost')).toThrow('outside of a transaction');
  });

  it('after the end of its transaction throws', async () => {
    let ended: Tx | undefined;
    await transaction(test.database, async (tx) => {
      ended = tx;
    });
    expect(() => signal(ended as Tx, 'jobs', 'late')).toThrow('outside of a transaction');
  });
});

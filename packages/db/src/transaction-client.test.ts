/** What travels together: the opening with the first statement, the last statements with the commit. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startStatementCounter, testDatabase } from '@acp/testkit';
import type { StatementCounter } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { type Database, writeAtCommit, openDatabase, savepoint, together, transaction } from './index.ts';
import { OFTEN } from './statement-names.ts';
import type { Tx } from './index.ts';

let counter: StatementCounter;
let database: Database;

beforeAll(async () => {
  const { url } = await testDatabase();
  counter = await startStatementCounter(url);
  database = openDatabase({ url: counter.url, max: 1, application_name: 'test', prepared_statements: true });
  await database.db.execute(sql`create table words (word text primary key)`);
});

beforeEach(async () => {
  await database.db.execute(sql`truncate words`);
});

afterAll(async () => {
  await database.close();
  counter.close();
});

const write = async (tx: Tx, word: string) => tx.execute(sql`insert into words values (${word})`);
const writeAll = (words: readonly string[]) =>
  sql`insert into words select * from jsonb_array_elements_text(${JSON.stringify(words)}::jsonb)`;
const words = async () => {
  const { rows } = await database.db.execute<{ word: string }>(sql`select word from words order by word`);
  return rows.map(({ word }) => word);
};
/** Statements as they were sent, grouped by round trip. */
const sentBy = async (work: () => Promise<unknown>) => {
  const before = counter.trips().length;
  await work();
  return counter.trips().slice(before);
};
const BEGIN = 'begin isolation level read committed';

/** A way to the database that loses the next message and the connection it came on. */
async function breakable(databaseUrl: string) {
  const url = new URL(databaseUrl);
  const target = Number(url.port);
  let isBroken = false;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    client.on('data', (chunk) => {
      if (!isBroken) return void upstream.write(chunk);
      isBroken = false;
      client.destroy();
    });
    upstream.pipe(client);
    client.on('close', () => upstream.destroy()).on('error', () => undefined);
    upstream.on('close', () => client.destroy()).on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.port = String((server.address() as AddressInfo).port);
  return { url: url.href, break: () => (isBroken = true), close: () => server.close() };
}

describe('a transaction', () => {
  it('whose first statement was planned before its table changed is opened anew, and happens once', async () => {
    await database.db.execute(sql`create table growing (id int)`);
    const add = async (id: number) =>
      transaction(database, async (tx) => {
        const { rows } = await tx.execute(sql`insert into growing (id) values (${id}) returning *`);
        await tx.execute(sql`select ${id}`);
        return rows;
      });
    for (let id = 0; id <= OFTEN; id += 1) await add(id);
    await database.db.execute(sql`alter table growing add column note text`);
    expect(await add(100)).toEqual([{ id: 100, note: null }]);
    const { rows } = await database.db.execute(
      sql`select count(*)::int as count from growing where id = 100`,
    );
    expect(rows).toEqual([{ count: 1 }]);
  });

  it('whose second statement was planned before its table changed says so, though only the third is heard of', async () => {
    await database.db.execute(sql`create table widening (id int)`);
    const add = async (id: number) =>
      transaction(database, async (tx) => {
        await tx.execute(sql`select ${id}`);
        const insert = async () => tx.execute(sql`insert into widening (id) values (${id}) returning *`);
        const added = insert();
        added.catch(() => undefined);
        await nextTurn();
        await tx.execute(sql`select ${id} + 1`);
        await added;
      });
    for (let id = 0; id <= OFTEN; id += 1) await add(id);
    await database.db.execute(sql`alter table widening add column note text`);
    await expect(add(1000)).rejects.toMatchObject({ kind: 'unavailable' });
    // Its connection was not given back: the next one plans anew.
    await add(1001);
    await expect(database.db.execute(sql`select note from widening where id >= 1000`)).resolves.toMatchObject(
      {
        rows: [{ note: null }],
      },
    );
  });

  it('opens with its first statement, and ends with what it has for last', async () => {
    for (let round = 0; round < 3; round += 1) {
      const trips = await sentBy(async () =>
        transaction(database, async (tx) => {
          await write(tx, `first ${round}`);
          writeAtCommit(tx, writeAll, [`last ${round}`]);
          await write(tx, `second ${round}`);
          writeAtCommit(tx, writeAll, [`very last ${round}`]);
        }),
      );
      expect(trips).toEqual([
        [BEGIN, expect.stringContaining('insert into words values')],
        [expect.stringContaining('insert into words values')],
        [expect.stringContaining('insert into words select'), 'commit'],
      ]);
    }
    expect(await words()).toHaveLength(12);
  });

  it('waits for nothing: all of it is one message, and what it asked is answered with its commit', async () => {
    let asked: ReturnType<typeof write> | undefined;
    const trips = await sentBy(async () => {
      const { answer } = await transaction(database, async (tx) => {
        asked = write(tx, 'first');
        writeAtCommit(tx, writeAll, ['last']);
        return { answer: asked };
      });
      await expect(answer).resolves.toMatchObject({ rowCount: 1 });
    });
    expect(trips).toEqual([
      [
        BEGIN,
        expect.stringContaining('insert into words values'),
        expect.stringContaining('insert into words select'),
        'commit',
      ],
    ]);
    expect(await words()).toEqual(['first', 'last']);
  });

  it('does not wait for its second statement: that travels with the commit', async () => {
    const trips = await sentBy(async () =>
      transaction(database, async (tx) => {
        await write(tx, 'first');
        return { answer: write(tx, 'second') };
      }),
    );
    expect(trips.map((trip) => trip.length)).toEqual([2, 2]);
    expect(await words()).toEqual(['first', 'second']);
  });

  it('waits for nothing, and a part of it fails: nothing is left, and both the part and the whole say why', async () => {
    await write(database.db, 'known');
    const outcomes: Promise<unknown>[] = [];
    for (const word of ['known', 'new']) {
      const failing = transaction(database, async (tx) => {
        const asked = write(tx, word);
        outcomes.push(
          asked.then(
            () => 'written',
            ({ cause }: Error) => (cause as { code: string }).code,
          ),
        );
        writeAtCommit(tx, writeAll, ['known']);
        return { answer: asked };
      });
      await expect(failing).rejects.toMatchObject({ code: '23505' });
    }
    expect([await Promise.all(outcomes), await words()]).toEqual([['23505', 'written'], ['known']]);
  });

  it('is one message, and its connection breaks: it is not sent again, since it may have been committed', async () => {
    const breaking = await breakable(counter.url);
    const over = openDatabase({ url: breaking.url, max: 1, application_name: 'breaking' });
    const waiting = async (word: string) => transaction(over, async (tx) => void (await write(tx, word)));
    await waiting('before');
    breaking.break();
    await waiting('opened anew');
    breaking.break();
    const failing = transaction(over, async (tx) => {
      const asked = write(tx, 'unknown');
      asked.catch(() => undefined);
      return { asked };
    });
    await expect(failing).rejects.toMatchObject({ kind: 'unavailable' });
    await waiting('after');
    expect(await words()).toEqual(['after', 'before', 'opened anew']);
    await over.close();
    breaking.close();
  });

  it('asks several things at once: they travel together, the first with its opening, and each is answered', async () => {
    const numbered = (n: number) => sql`select ${n}::int as n`;
    let answers: unknown[] = [];
    const trips = await sentBy(async () =>
      transaction(database, async (tx) => {
        const [one, two] = await together(tx.execute(numbered(1)), tx.execute(numbered(2)));
        const [three, built, none] = await together(
          tx.execute(numbered(3)),
          // Its rows are read as arrays, and by their columns' types.
          tx.select({ day: sql<Date>`date '2026-01-02'` }).from(sql`(select) as one`),
          tx.execute(sql`select ${4} where false`),
        );
        answers = [one.rows, two.rows, three.rows, built, none.rows];
      }),
    );
    expect(trips.map((trip) => trip.length)).toEqual([3, 3, 1]);
    expect(answers).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }], [{ day: '2026-01-02' }], []]);
  });

  it('one of several things asked at once fails: those before it are answered, those behind it were skipped', async () => {
    let answers: PromiseSettledResult<unknown>[] = [];
    const failing = transaction(database, async (tx) => {
      await write(tx, 'begun');
      answers = await Promise.allSettled([write(tx, 'first'), write(tx, 'first'), write(tx, 'third')]);
    });
    await expect(failing).rejects.toThrow('failed before its commit');
    expect(answers).toMatchObject([
      { status: 'fulfilled' },
      { reason: { cause: { code: '23505' } } },
      // Not the second one's conflict, for which it may have an answer of its own.
      { reason: { cause: { code: '25P02', cause: { code: '23505' } } } },
    ]);
    expect(await words()).toEqual([]);
  });

  it('asks nothing: nothing is sent; has something for last only: it is written', async () => {
    expect(await sentBy(async () => transaction(database, async () => 'nothing'))).toEqual([]);
    await transaction(database, async (tx) => writeAtCommit(tx, writeAll, ['alone']));
    expect(await words()).toEqual(['alone']);
  });

  it('its first statement fails: the next transaction on the connection finds nothing of it', async () => {
    const failing = transaction(database, async (tx) => tx.execute(sql`insert into nowhere values (${1})`));
    await expect(failing).rejects.toThrow('Failed query');
    await transaction(database, async (tx) => together(write(tx, 'one'), write(tx, 'two')));
    expect(await words()).toEqual(['one', 'two']);
  });

  it('a new statement fails behind others: it can be sent again by the same connection', async () => {
    const cast = async (tx: Tx, text: string) => tx.execute(sql`select ${text}::int as number`);
    for (let round = 0; round < 3; round += 1)
      await expect(transaction(database, async (tx) => cast(tx, 'none'))).rejects.toThrow('Failed query');
    const { rows } = await transaction(database, async (tx) => cast(tx, '7'));
    expect(rows).toEqual([{ number: 7 }]);
  });

  it('its last statement fails: nothing of the transaction is left, and it says why', async () => {
    for (let round = 0; round < 3; round += 1) {
      const failing = transaction(database, async (tx) => {
        await write(tx, 'twice');
        writeAtCommit(tx, writeAll, ['twice']);
      });
      await expect(failing).rejects.toMatchObject({ code: '23505' });
    }
    expect(await words()).toEqual([]);
  });

  it('a part of it fails alone: what that had for last is forgotten with it', async () => {
    await transaction(database, async (tx) => {
      writeAtCommit(tx, writeAll, ['before']);
      const part = savepoint(tx, async (inner) => {
        writeAtCommit(inner, writeAll, ['within']);
        throw new Error('no');
      });
      await expect(part).rejects.toThrow('no');
      writeAtCommit(tx, writeAll, ['after']);
    });
    expect(await words()).toEqual(['after', 'before']);
  });

  it('fails while a statement is on its way: its only connection is free again', async () => {
    const asked = Promise.withResolvers<unknown>();
    const failing = transaction(database, async (tx) => {
      tx.execute(sql`select 1`).then(asked.resolve, asked.reject);
      asked.promise.catch(() => undefined);
      // The statement has been issued, and the connection is on its way.
      await new Promise(setImmediate);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    await Promise.allSettled([asked.promise]);
    const { rows } = await transaction(database, async (tx) => tx.execute(sql`select 2 as n`));
    expect([rows, database.poolStats().acquired]).toEqual([[{ n: 2 }], 0]);
  });

  it('is over before its first statement is issued: that is refused, and takes no connection', async () => {
    for (const end of ['commit', 'failure']) {
      let ended: Tx | undefined;
      const over = transaction(database, async (tx) => {
        ended = tx;
        if (end === 'failure') throw new Error('no');
      });
      await over.catch(() => undefined);
      await expect(ended!.execute(sql`select 1`)).rejects.toMatchObject({
        cause: { message: 'the transaction is over' },
      });
    }
    expect(database.poolStats().acquired).toBe(0);
  });

  it('is over: it takes nothing for last', async () => {
    let ended: Tx | undefined;
    await transaction(database, async (tx) => {
      ended = tx;
    });
    expect(() => writeAtCommit(ended!, writeAll, ['late'])).toThrow('outside of a transaction');
  });

  it('its connection died while it was idle: another one is as good', async () => {
    const [{ pid }] = (await database.db.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`))
      .rows as [{ pid: number }];
    const other = openDatabase({ url: counter.url, max: 1, application_name: 'other' });
    const cut = other.db.execute(sql`select pg_terminate_backend(${pid})`);
    await transaction(database, async (tx) => write(tx, 'survives'));
    await cut;
    await other.close();
    expect(await words()).toEqual(['survives']);
  });

  it('its statements come often: they are prepared, and travel together as before', async () => {
    const all = Array.from({ length: 2 * OFTEN }, (_, n) => `word ${String(n).padStart(3, '0')}`);
    for (const word of all) await transaction(database, async (tx) => write(tx, word));
    expect(await words()).toEqual(all);
    const { rows } = await database.db.execute(sql`select statement from pg_prepared_statements`);
    expect(rows).toContainEqual({ statement: 'insert into words values ($1)' });
    expect(await sentBy(async () => transaction(database, async (tx) => write(tx, 'last')))).toHaveLength(2);
    await expect(transaction(database, async (tx) => write(tx, 'last'))).rejects.toThrow('Failed query');
    expect(await words()).toEqual(['last', ...all]);
  });
});

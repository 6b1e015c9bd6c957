import { describe, expect, it } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { testDatabase } from '@acp/testkit';
import { together } from './together.ts';
import { transaction } from './transaction.ts';

const { database } = await testDatabase();

describe('statements that go together', () => {
  it('each answer comes to its own question, in the order of the arguments', async () => {
    const answers = await transaction(database, async (tx) =>
      together(
        tx.execute<{ n: number }>(sql`select ${1}::int as n from pg_sleep(0.02)`),
        tx.execute<{ n: number }>(sql`select ${2}::int as n`),
        undefined,
      ),
    );
    expect(answers.map((answer) => answer?.rows)).toEqual([[{ n: 1 }], [{ n: 2 }], undefined]);
  });

  it('one of them fails: nothing of the others is left, and the transaction fails with its error', async () => {
    await database.db.execute(sql`create table together_test (n int primary key)`);
    const insert = transaction(database, async (tx) => {
      const late = async () => {
        await tx.execute(sql`insert into together_test values (${1})`);
        await tx.execute(sql`insert into together_test values (${2})`);
      };
      await together(late(), tx.execute(sql`insert into nowhere values (${1})`));
    });
    await expect(insert).rejects.toThrow('insert into nowhere');
    const { rows } = await database.db.execute(sql`select n from together_test`);
    expect(rows).toEqual([]);
    await database.db.execute(sql`drop table together_test`);
  });

  it('the first fails and the second is skipped: the error is the one of the first, whichever is heard of earlier', async () => {
    const failing = transaction(database, async (tx) => {
      const layered = async () => (async () => tx.execute(sql`select ${1}::int / 0`))();
      await together(layered(), tx.execute(sql`select ${2}::int`));
    });
    await expect(failing).rejects.toMatchObject({ cause: { code: '22012' } });
  });
});

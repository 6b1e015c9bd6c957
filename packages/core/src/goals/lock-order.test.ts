import { beforeAll, expect, it } from '@jest/globals';
import { type Database, transaction, type Tx } from '@acp/db';
import { actors, createCompany, databaseWithQueue, meetAt } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { createGoal, deleteGoal, findGoal, listTrash, purgeFromTrash, restoreFromTrash } from '../index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const admin = actors.instanceAdmin({ id: '00000000-0000-4000-8000-00000000000a', display_name: 'Admin' });

it('a goal is purged while one is brought back that was deleted before it and is below it', async () => {
  const act = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);
  const company = await createCompany(database.db);
  const make = async (title: string, parent_goal_id?: string) =>
    act(async (tx) =>
      createGoal(tx, admin, company.id, {
        title,
        ...(parent_goal_id === undefined ? {} : { parent_goal_id }),
      }),
    );
  const above = await make('Above');
  const below = await make('Below', above.id);
  for (const { id } of [below, above])
    await act(async (tx) => deleteGoal(tx, admin, (await findGoal(tx, id))!));
  const { items } = await listTrash(database.db, { company_id: company.id });
  const entryOf = ({ id }: { id: string }) => items.find(({ entity_id }) => entity_id === id)!;
  const outcomes = await meetAt(database, sql`select from goals where id = ${below.id} for update`, [
    async (tx) => purgeFromTrash(tx, admin, entryOf(above)),
    async (tx) => restoreFromTrash(tx, admin, entryOf(below)),
  ]);
  expect(outcomes).toEqual([
    expect.objectContaining({ status: 'fulfilled' }),
    expect.objectContaining({ reason: expect.objectContaining({ kind: 'not_found' }) }),
  ]);
});

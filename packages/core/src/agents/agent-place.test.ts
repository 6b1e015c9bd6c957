import { beforeAll, expect, it } from '@jest/globals';
import type { Database } from '@acp/db';
import { createCompany, databaseWithQueue, pagesRead } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { placesOfIdleAgents } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

it('the homes of the other agents are found without a look at those that have the usual one', async () => {
  const company = await createCompany(database.db);
  await database.db.execute(sql`
    with made as (
      insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec, home_dir)
      select ${company.id}, 'Agent ' || n, 'engineer', 'llm', false, 300, case when n <= 2 then '/homes/' || n end
      from generate_series(1, 3000) n returning id)
    insert into agent_runtime_states (agent_id) select id from made`);
  await database.db.execute(sql`vacuum analyze agents`);
  const read = async (db: Database['db']) => placesOfIdleAgents(db, null, 200);
  const { places } = await read(database.db);
  expect(places).toHaveLength(200);
  expect(places.find(({ home_dir }) => home_dir === null)).toMatchObject({
    other_homes: expect.arrayContaining(['/homes/1', '/homes/2']),
  });
  expect(await pagesRead(database, read)).toBeLessThan(4000);
});

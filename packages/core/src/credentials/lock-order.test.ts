import { beforeAll, expect, it } from '@jest/globals';
import { type Database, type Tx } from '@acp/db';
import {
  actors,
  createAgent,
  createCompany,
  createMembership,
  createUser,
  databaseWithQueue,
  meetAt,
} from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { deleteAgent, markKeysUsed } from '../agents/index.ts';
import { deleteCompany } from '../companies/index.ts';
import { removeMember } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const admin = actors.system;

interface Scene {
  company: { id: string };
  agent: Awaited<ReturnType<typeof createAgent>>;
  user: { id: string };
}

it.each<[string, 'board_user_keys' | 'agent_api_keys', (tx: Tx, scene: Scene) => Promise<unknown>]>([
  [
    'a member is removed',
    'board_user_keys',
    async (tx, s) => removeMember(tx, admin, s.company.id, s.user.id),
  ],
  [
    'a member is removed',
    'agent_api_keys',
    async (tx, s) => removeMember(tx, admin, s.company.id, s.user.id),
  ],
  [
    'a member is removed whose keys are kept',
    'board_user_keys',
    async (tx, s) => removeMember(tx, admin, s.company.id, s.user.id, { keep_keys: true }),
  ],
  [
    'a member is removed whose keys are kept',
    'agent_api_keys',
    async (tx, s) => removeMember(tx, admin, s.company.id, s.user.id, { keep_keys: true }),
  ],
  ['a company is deleted', 'board_user_keys', async (tx, s) => deleteCompany(tx, admin, s.company.id)],
  ['an agent is deleted', 'agent_api_keys', async (tx, s) => deleteAgent(tx, admin, s.agent)],
])('%s while the use of its keys is noted: %s', async (_what, table, act) => {
  const company = await createCompany(database.db);
  const [agent, user] = [await createAgent(database.db, company), await createUser(database.db)];
  await createMembership(database.db, company, user, 'admin');
  const [low, high] = ['00000000', 'ffffffff'].map((head) => head + crypto.randomUUID().slice(8)) as [
    string,
    string,
  ];
  const ofAgent = table === 'agent_api_keys';
  for (const id of [high, low])
    await database.db.execute(sql`
      insert into ${sql.identifier(table)} (id, company_id, ${sql.raw(ofAgent ? 'agent_id' : 'role')}, key_hash, key_prefix, created_by_user_id)
      values (${id}, ${company.id}, ${ofAgent ? agent.id : 'member'}, ${id}, 'sk_00000', ${user.id})`);
  const held = sql`select from ${sql.identifier(table)} where id = ${high} for update`;
  const outcomes = await meetAt(database, held, [
    async (tx) => act(tx, { company, agent, user }),
    async (tx) => markKeysUsed(tx, [low, high]),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
});

import { beforeAll, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { actors, createAgent, createCompany, databaseWithQueue, meetAt } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentDefaults } from '../companies/index.ts';
import { deleteFsSkill, putAgentFile, putFsSkill } from '../agent-files/index.ts';
import { attachSkill, createSkill, detachSkill } from '../skills/index.ts';
import { activatePrompt, type AgentRow, findAgent, updateAgent, updateAgentDefaults } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const inTx = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);
const rowOf = async ({ id }: { id: string }) => (await findAgent(database.db, id))!;

async function stored() {
  const storage_key = `agents/${crypto.randomUUID()}`;
  await database.db.insert(schema.storage_orphans).values({ storage_key });
  return { filename: 'x', content_type: 'text/markdown', size_bytes: 1, sha256: '', storage_key };
}
const content = '---\nname: Tell\ndescription: All\n---\nTell.';

it.each<[string, (tx: Tx, who: Actor, agent: AgentRow, skill_id: string) => Promise<unknown>]>([
  ['chooses its prompt', async (tx, who, agent) => activatePrompt(tx, who, agent, 1)],
  ['writes its files', async (tx, who, agent) => putAgentFile(tx, who, agent, 'a.md', await stored())],
  [
    'writes a skill of its own',
    async (tx, who, agent) =>
      putFsSkill(tx, who, agent, { slug: 'tell', content }, await stored(), { fresh: false }),
  ],
  ['deletes a skill of its own', async (tx, who, agent) => deleteFsSkill(tx, who, agent, 'own')],
  ['attaches a skill', attachSkill],
  ['detaches a skill', detachSkill],
])(
  'nobody but an admin %s once an agent may use secrets, not even by a request from before',
  async (_what, act) => {
    const company = await createCompany(database.db);
    const [admin, member] = [actors.board(company, 'admin'), actors.board(company, 'member')];
    const { id } = await createAgent(database.db, company);
    await database.db.insert(schema.prompt_versions).values({
      agent_id: id,
      version_number: 1,
      system_prompt: 'Be kind',
      source: 'manual',
    });
    const before = await rowOf({ id });
    const own = await stored();
    await inTx(async (tx) => putFsSkill(tx, admin, before, { slug: 'own', content }, own, { fresh: true }));
    const skill = await inTx(async (tx) =>
      createSkill(tx, admin, company.id, { name: 'Help', description: 'Helps' }),
    );
    await inTx(async (tx) => attachSkill(tx, admin, before, skill.id));
    const permissions = { 'secrets.use': true };
    await database.db.update(schema.agents).set({ permissions }).where(eq(schema.agents.id, id));
    await expect(inTx(async (tx) => act(tx, member, before, skill.id))).rejects.toMatchObject({
      kind: 'forbidden',
    });
  },
);

it('two agents never have the same home, also where both are given it at once', async () => {
  const company = await createCompany(database.db);
  const admin = actors.board(company, 'admin');
  const agents = [
    await rowOf(await createAgent(database.db, company)),
    await rowOf(await createAgent(database.db, company)),
  ];
  const service_home = await mkdtemp(join(tmpdir(), 'homes-'));
  const home_dir = join(service_home, 'companies', company.id, 'ada');
  const homes = { service_home, assigned: {} };
  const outcomes = await meetAt(
    database,
    sql`select from agents where company_id = ${company.id} for update`,
    agents.map((agent) => async (tx: Tx) => updateAgent(tx, admin, agent, { home_dir }, homes)),
  );
  expect(outcomes).toEqual([
    expect.objectContaining({ status: 'fulfilled' }),
    expect.objectContaining({ reason: expect.objectContaining({ kind: 'invalid' }) }),
  ]);
});

it('the defaults of new agents fit together, also where two parts of them are changed at once', async () => {
  const company = await createCompany(database.db);
  const admin = actors.board(company, 'admin');
  const outcomes = await meetAt(database, sql`select from companies where id = ${company.id} for update`, [
    async (tx) => updateAgentDefaults(tx, admin, company.id, { adapter_type: 'cli_a_local' }),
    async (tx) =>
      updateAgentDefaults(tx, admin, company.id, {
        adapter_config: { allow_dangerous_permissions: 'yes' },
      }),
  ]);
  expect(outcomes).toEqual([
    expect.objectContaining({ status: 'fulfilled' }),
    expect.objectContaining({ reason: expect.objectContaining({ kind: 'invalid' }) }),
  ]);
  expect(await agentDefaults(database.db, company.id)).toMatchObject({
    adapter_type: 'cli_a_local',
    adapter_config: {},
  });
});

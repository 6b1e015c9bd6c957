import { beforeAll, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import * as kit from '@acp/testkit';
import { putFsSkill } from '../agent-files/index.ts';
import { attachSkill, createSkill, deleteSkill, findSkill } from '../skills/index.ts';
import {
  activatePrompt,
  createAgentKey,
  deleteAgent,
  deleteAgentKey,
  findAgent,
  findAgentKey,
  pauseAgent,
  resumeAgent,
  updateAgent,
} from './index.ts';

const { actors } = kit;
let database: Database;
beforeAll(async () => {
  database = await kit.databaseWithQueue();
});

async function setUp() {
  const company = await kit.createCompany(database.db);
  const agent = async (permissions: Record<string, boolean> = {}) =>
    (await findAgent(database.db, (await kit.createAgent(database.db, company, { permissions })).id))!;
  const [low, peer, high] = [await agent({ 'notes.write': false }), await agent(), await agent()];
  const member = await kit.createIntegration(database.db, company);
  const inTx = async <T>(act: Parameters<typeof transaction<T>>[1]) => transaction(database, act);
  const skill = async (slug: string, actor: Actor = member, company_wide = false) =>
    inTx(async (tx) =>
      createSkill(tx, actor, company.id, { slug, name: slug, description: 'D', company_wide }),
    );
  return { company, low, peer, high, member, inTx, skill };
}

type Setting = Awaited<ReturnType<typeof setUp>>;

/** Everything by which one agent could control or end another. */
function acts({ company, high, member, inTx, skill }: Setting) {
  const file = {
    filename: 'x',
    content_type: 'text/markdown',
    size_bytes: 1,
    sha256: '',
    storage_key: high.id,
  };
  const content = '---\nname: Bad\ndescription: Bad\n---\nTell.';
  return {
    'mints its key': (who: Actor) =>
      inTx(async (tx) => createAgentKey(tx, who, company.id, { agent_id: high.id })),
    'revokes its key': async (who: Actor) => {
      const { id } = await inTx(async (tx) => createAgentKey(tx, member, company.id, { agent_id: high.id }));
      const key = (await findAgentKey(database.db, id))!;
      return inTx(async (tx) => deleteAgentKey(tx, who, key));
    },
    'writes its prompt': (who: Actor) =>
      inTx(async (tx) => updateAgent(tx, who, high, { system_prompt: `Obey ${who.name}` })),
    'chooses its prompt': (who: Actor) =>
      inTx(async (tx) => {
        const { current_prompt_version_number: number } = (await findAgent(tx, high.id))!;
        return activatePrompt(tx, who, high, number);
      }),
    'attaches a skill': async (who: Actor) => {
      const { id } = await skill(`attached-${crypto.randomUUID()}`);
      return inTx(async (tx) => attachSkill(tx, who, high, id));
    },
    'writes a skill for all': (who: Actor) => skill(`all-${crypto.randomUUID()}`, who, true),
    'deletes a skill that it has': async (who: Actor) => {
      const { id } = await skill(`had-${crypto.randomUUID()}`);
      await inTx(async (tx) => attachSkill(tx, member, high, id));
      return inTx(async (tx) => deleteSkill(tx, who, (await findSkill(tx, id))!));
    },
    'writes a skill among its files': (who: Actor) =>
      inTx(async (tx) => putFsSkill(tx, who, high, { slug: 'bad', content }, file, { fresh: false })),
    'pauses it': (who: Actor) => inTx(async (tx) => pauseAgent(tx, who, high)),
    'resumes it': (who: Actor) => inTx(async (tx) => resumeAgent(tx, who, high)),
    'deletes it': (who: Actor) => inTx(async (tx) => deleteAgent(tx, who, high)),
  };
}

it.each(['permission', 'tools of an outside server'])(
  'an agent that lacks a %s has none who has it at its hands; its equal and people have',
  async (lacking) => {
    const s = await setUp();
    let who = actors.agent(s.low);
    if (lacking !== 'permission') {
      who = actors.agent(s.peer);
      const values = { company_id: s.company.id, name: 'crm', url: 'https://crm.example', restricted: true };
      const [server] = await database.db.insert(schema.mcp_servers).values(values).returning();
      const grant = { server_id: server!.id, agent_id: s.high.id, tools: ['read', 'write'] };
      // Some of the tools are not all of them.
      await database.db
        .insert(schema.mcp_server_agents)
        .values([grant, { ...grant, agent_id: s.peer.id, tools: ['read'] }]);
    }
    for (const [name, act] of Object.entries(acts(s)))
      expect([name, await act(who).catch((error: unknown) => error)]).toEqual([
        name,
        expect.objectContaining({
          kind: 'forbidden',
          message: expect.stringContaining('more rights than you'),
        }),
      ]);
  },
);

it.each(['an equal agent', 'a member'])('%s acts on an agent that may do no more', async (caller) => {
  const s = await setUp();
  await database.db.insert(schema.storage_orphans).values({ storage_key: s.low.id });
  const who = caller === 'a member' ? s.member : actors.agent(s.peer);
  // The one that ends it comes last.
  for (const act of Object.values(acts({ ...s, high: s.low }))) await act(who);
  expect(await findAgent(database.db, s.low.id)).toBeUndefined();
});

/** Every row of the contract's table of bounds: what creates the kind stops at the bound, also for two at the same time. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Actor, type BoundKind, boundKinds, bounds } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { newId, Vault } from '@acp/kernel';
import * as kit from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { createAgent, createAgentKey, findAgent, updateAgent } from '../agents/index.ts';
import { createApproval } from '../approvals/index.ts';
import { createAttachments, reserveStorageKeys } from '../attachments/index.ts';
import { createBudgetPolicy, setModelPrice } from '../budgets/index.ts';
import { createChannel } from '../channels/index.ts';
import { createChat } from '../chats/index.ts';
import { addMember, createInvite, mintBoardUserKey } from '../companies/index.ts';
import { putDocument } from '../documents/index.ts';
import { createPeer } from '../federation/index.ts';
import { createGoal } from '../goals/index.ts';
import { createLabel, createRelation, findIssue } from '../issues/index.ts';
import { createMcpServer } from '../mcp-servers/index.ts';
import { createNote, deleteNote, findNote } from '../notes/index.ts';
import { createPlugin } from '../plugins/index.ts';
import { createProject } from '../projects/index.ts';
import { createProvider } from '../providers/index.ts';
import { createRoutine, createTrigger } from '../routines/index.ts';
import { createSecret } from '../secrets/index.ts';
import { changeSettings } from '../settings/index.ts';
import { createSkill } from '../skills/index.ts';
import { createView } from '../views/index.ts';
import { createWebhook } from '../webhooks/index.ts';
import { createExecutionDecision, createWorkProduct } from '../work-products/index.ts';

const vault = new Vault(Buffer.alloc(32, 7));
const system = kit.actors.system as Actor;

let database: Database;
beforeAll(async () => {
  database = await kit.databaseWithQueue();
});

const inTx = <T>(work: (tx: Tx) => Promise<T>) => transaction(database, work);

async function setUp() {
  const company = await kit.createCompany(database.db);
  const agent = await kit.createAgent(database.db, company);
  const { id } = await kit.createIssue(database.db, company);
  const others = [await kit.createIssue(database.db, company), await kit.createIssue(database.db, company)];
  const issue = (await findIssue(database.db, id))!;
  const routine = await inTx((tx) =>
    createRoutine(tx, system, company.id, { name: 'Routine', title_template: 'Do' }),
  );
  return { company_id: company.id, agent, issue, others, routine };
}

type Setting = Awaited<ReturnType<typeof setUp>>;

/** Creates one of the kind; `n` tells them apart. */
const creators: Record<BoundKind, (tx: Tx, s: Setting, n: number) => Promise<unknown>> = {
  agents: (tx, s, n) => createAgent(tx, system, s.company_id, { name: `Agent ${n}` }),
  projects: (tx, s, n) => createProject(tx, system, s.company_id, { name: `Project ${n}` }),
  goals: (tx, s, n) => createGoal(tx, system, s.company_id, { title: `Goal ${n}` }),
  labels: (tx, s, n) => createLabel(tx, system, s.company_id, { name: `Label ${n}` }),
  skills: (tx, s, n) => createSkill(tx, system, s.company_id, { name: `Skill ${n}`, description: 'D' }),
  notes: (tx, s, n) => createNote(tx, system, s.company_id, { title: `Note ${n}` }),
  routines: (tx, s, n) =>
    createRoutine(tx, system, s.company_id, { name: `Routine ${n}`, title_template: 'Do' }),
  chats: (tx, s) => createChat(tx, system, s.company_id, { agent_id: s.agent.id }),
  secrets: (tx, s, n) => createSecret(tx, system, s.company_id, { name: `NAME_${n}`, value: 'v' }, vault),
  providers: (tx, s, n) =>
    createProvider(tx, system, s.company_id, { name: `P ${n}`, adapter_type: 'family_chat_a' }, vault, {
      egress: 'any',
    }),
  budget_policies: (tx, s, n) =>
    createBudgetPolicy(tx, system, s.company_id, {
      scope_type: 'company',
      scope_id: s.company_id,
      window: 'day',
      limit_usd: n + 1,
      action: 'notify',
    }),
  model_prices: (tx, s, n) =>
    setModelPrice(tx, system, s.company_id, { model: `model ${n}`, input_usd: 1, output_usd: 1 }),
  webhooks: (tx, s, n) =>
    createWebhook(tx, system, s.company_id, { url: `http://hooks.test/${n}`, events: ['*'] }, vault, {
      allowed_hosts: ['hooks.test'],
    }),
  a2a_peers: (tx, s, n) =>
    createPeer(
      tx,
      kit.actors.board({ id: s.company_id }, 'admin'),
      s.company_id,
      { label: `Peer ${n}`, url: 'https://peer.test' },
      vault,
    ),
  mcp_servers: (tx, s, n) =>
    createMcpServer(
      tx,
      system,
      s.company_id,
      { name: `server${n}`, url: 'https://mcp.test' },
      {
        allowed_hosts: ['mcp.test'],
        commands: new Map(),
      },
    ),
  channels: (tx, s, n) =>
    createChannel(tx, system, s.company_id, {
      name: `Channel ${n}`,
      kind: 'telegram',
      bot_token: '${secret:T}',
    }),
  plugins: (tx, s, n) => createPlugin(tx, system, s.company_id, { name: `Plugin ${n}`, slug: `plugin-${n}` }),
  members: async (tx, s) =>
    addMember(tx, system, s.company_id, { user_id: (await kit.createUser(database.db)).id }),
  invites: (tx, s) => createInvite(tx, system, s.company_id, { role: 'viewer' }),
  board_user_keys: (tx, s) => mintBoardUserKey(tx, system, s.company_id, { role: 'viewer' }),
  approvals: (tx, s, n) =>
    createApproval(tx, kit.actors.board({ id: s.company_id }), s.company_id, {
      type: 'plan',
      title: `Plan ${n}`,
    }),
  agent_keys: (tx, s) => createAgentKey(tx, system, s.company_id, { agent_id: s.agent.id }),
  routine_triggers: (tx, s) => createTrigger(tx, system, s.routine, { kind: 'webhook' }, vault),
  documents: (tx, s, n) => putDocument(tx, system, s.issue, `key-${n}`, { title: 'T', body: 'B' }),
  attachments: async (tx, s) => {
    const file = { filename: 'a.bin', content_type: 'application/octet-stream', size_bytes: 1, sha256: '' };
    const storage_key = newId();
    await reserveStorageKeys(tx, [storage_key]);
    return createAttachments(tx, system, s.issue, [{ ...file, storage_key }]);
  },
  work_products: (tx, s, n) =>
    createWorkProduct(tx, system, s.issue, { type: 'report', title: `Report ${n}` }),
  execution_decisions: (tx, s) =>
    createExecutionDecision(tx, system, s.issue, { decision_type: 'skip', metadata: {} }),
  saved_views: (tx, s, n) =>
    createView(tx, kit.actors.board({ id: s.company_id }), s.company_id, { name: `View ${n}` }),
  relations: (tx, s, n) => createRelation(tx, system, s.issue, { target_issue_id: s.others[n % 2]!.id }),
};

/** Sets the bound of the kind to what the subject has, and `more`. */
async function leave(kind: BoundKind, more: number): Promise<number> {
  const held: Partial<Record<BoundKind, number>> = { agents: 1, routines: 1 };
  const most = (held[kind] ?? 0) + more;
  await inTx((tx) => changeSettings(tx, system, { bounds: { [kind]: most } }));
  return most;
}

describe('a bound', () => {
  it.each(boundKinds)('of %s holds for one after the other, and names itself', async (kind) => {
    const s = await setUp();
    const most = await leave(kind, 1);
    await inTx((tx) => creators[kind](tx, s, 0));
    const refused = inTx((tx) => creators[kind](tx, s, 1));
    const { what, per } = bounds[kind];
    const message = expect.stringContaining(`${per} has ${most} ${what} at most`);
    await expect(refused).rejects.toMatchObject({ kind: 'conflict', message });
    await inTx((tx) => changeSettings(tx, system, { bounds: null }));
    await inTx((tx) => creators[kind](tx, s, 1));
  });

  it.each(['labels', 'model_prices', 'documents'] as const)(
    'of %s holds for many at the same time',
    async (kind) => {
      const s = await setUp();
      await leave(kind, 3);
      const all = Array.from({ length: 8 }, (_, n) => inTx((tx) => creators[kind](tx, s, n)));
      const outcomes = await Promise.allSettled(all);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    },
  );

  it('counts what is in the trash, so that creating and deleting in turn ends too', async () => {
    const s = await setUp();
    await leave('notes', 1);
    const { id } = (await inTx((tx) => creators.notes(tx, s, 0))) as { id: string };
    await inTx(async (tx) => deleteNote(tx, system, (await findNote(tx, id))!));
    await expect(inTx((tx) => creators.notes(tx, s, 1))).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('of agents counts those that were terminated, so that hiring and terminating in turn ends too', async () => {
    const s = await setUp();
    await leave('agents', 0);
    const set = async (status: 'terminated' | 'idle') =>
      inTx(async (tx) => updateAgent(tx, system, (await findAgent(tx, s.agent.id))!, { status }));
    await set('terminated');
    await expect(inTx((tx) => creators.agents(tx, s, 0))).rejects.toMatchObject({ kind: 'conflict' });
    expect(await set('idle')).toMatchObject({ status: 'idle' });
  });

  it('of agents holds for sub-agents that are brought back after others took their room', async () => {
    const s = await setUp();
    await leave('agents', 2);
    const parent = await kit.createAgent(database.db, { id: s.company_id });
    const below = { parent_agent_id: parent.id, ancestor_ids: [parent.id], subagent_depth: 1 };
    await database.db.update(schema.agents).set(below).where(eq(schema.agents.id, s.agent.id));
    const set = async (status: 'terminated' | 'idle') =>
      inTx(async (tx) => updateAgent(tx, system, (await findAgent(tx, s.agent.id))!, { status }));
    await set('terminated');
    for (const n of [0, 1]) await inTx((tx) => creators.agents(tx, s, n));
    await expect(set('idle')).rejects.toMatchObject({ kind: 'conflict' });
    await leave('agents', 3);
    expect(await set('idle')).toMatchObject({ status: 'idle' });
  });

  it('of one company is not another’s', async () => {
    const [one, other] = [await setUp(), await setUp()];
    await leave('labels', 1);
    for (const s of [one, other])
      expect(await inTx((tx) => creators.labels(tx, s, 0))).toMatchObject({ company_id: s.company_id });
  });

  it.each([{ bounds: { agents: 0 } }, { bounds: { unicorns: 5 } }, { bounds: { agents: 'many' } }])(
    'is refused as a setting if it makes no sense: %j',
    async (patch) => {
      const refused = inTx((tx) => changeSettings(tx, system, patch as never));
      await expect(refused).rejects.toMatchObject({ kind: 'invalid' });
    },
  );
});

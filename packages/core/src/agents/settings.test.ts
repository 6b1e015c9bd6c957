import { beforeAll, describe, expect, it } from '@jest/globals';
import type { CreateAgent, UpdateAgent } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createCompany, createUser, databaseWithQueue } from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import {
  activatePrompt,
  agentHome,
  agentPermissions,
  createAgent,
  findAgent,
  listConfigRevisions,
  listPromptVersions,
  updateAgent,
  updateAgentDefaults,
  updatePermissions,
} from './index.ts';

const { activity, companies } = schema;
let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const user = await createUser(database.db);
  const admin = actors.user(user, { [company.id]: 'admin' });
  const member = actors.board(company, 'member');
  const within = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);
  const hire = async (input: Partial<CreateAgent> = {}, actor: Parameters<typeof createAgent>[1] = admin) => {
    const hired = await within((tx) => createAgent(tx, actor, company.id, { name: 'Ada', ...input }));
    return 'agent' in hired ? hired.agent : hired;
  };
  const row = async (id: string) => (await findAgent(database.db, id))!;
  const update = async (id: string, body: UpdateAgent) =>
    within(async (tx) => updateAgent(tx, admin, (await findAgent(tx, id))!, body));
  return { company, user, admin, member, within, hire, row, update };
}

describe('the configuration', () => {
  it('has a revision for each change: what, who and why; what changes nothing leaves none', async () => {
    const { user, hire, update } = await setUp();
    const { id } = await hire({ adapter_type: 'cli_a_local', adapter_config: { timeout_seconds: 60 } });
    await update(id, { adapter_config: { timeout_seconds: 90 }, reason: 'it is slow' });
    await update(id, { adapter_config: { timeout_seconds: 90 }, reason: 'again' });
    await update(id, { title: 'Analyst', reason: 'no configuration' });
    const { items } = await listConfigRevisions(database.db, { id }, {});
    const reasons = items.map(({ reason }) => reason);
    expect(new Set(reasons)).toEqual(new Set(['hired', 'it is slow']));
    expect(reasons).toHaveLength(2);
    expect(items[reasons.indexOf('it is slow')]).toMatchObject({
      config_json: { timeout_seconds: 90 },
      created_by: user.id,
    });
    expect(items[reasons.indexOf('hired')]).toMatchObject({ config_json: { timeout_seconds: 60 } });
    const first = await listConfigRevisions(database.db, { id }, { limit: 1 });
    const next = { limit: 1, cursor: first.next_cursor! };
    const second = await listConfigRevisions(database.db, { id }, next);
    expect([...first.items, ...second.items]).toEqual(items);
    expect(second.next_cursor).toBeNull();
  });

  it('costs no statement more than the change itself', async () => {
    const { hire, update } = await setUp();
    const { id } = await hire();
    const cost = async (body: UpdateAgent) => {
      const before = database.statements();
      await update(id, body);
      return database.statements() - before;
    };
    const plain = await cost({ title: 'Analyst' });
    expect(await cost({ adapter_config: { full_context: true } })).toBe(plain);
  });

  it('without a type means llm, as the company’s default too', async () => {
    const { company, admin, within } = await setUp();
    const set = async (adapter_type: string) =>
      within((tx) => updateAgentDefaults(tx, admin, company.id, { adapter_type }));
    expect(await set('cli_a_local')).toMatchObject({ adapter_type: 'cli_a_local' });
    expect(await set('')).toMatchObject({ adapter_type: 'llm' });
  });

  it('of the company’s default may be inherited by a member’s hire, not taken to another adapter', async () => {
    const { company, admin, member, within, hire } = await setUp();
    await within((tx) =>
      updateAgentDefaults(tx, admin, company.id, {
        adapter_type: 'cli_a_local',
        adapter_config: { allow_dangerous_permissions: true },
      }),
    );
    const config = { allow_dangerous_permissions: true };
    expect(await hire({}, member)).toMatchObject({ adapter_type: 'cli_a_local', adapter_config: config });
    expect(await hire({ adapter_type: 'cli_a_local' }, member)).toMatchObject({ adapter_config: config });
    await expect(hire({ adapter_type: 'cli_b_local' }, member)).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await hire({ adapter_type: 'cli_b_local' })).toMatchObject({ adapter_config: config });
  });
});

describe('a prompt', () => {
  it('is a version of its own each time it changes, and an old one can be made the agent’s again', async () => {
    const { hire, update, row, within, admin } = await setUp();
    const { id } = await hire({ system_prompt: 'First.' });
    expect(await update(id, { system_prompt: 'Second.' })).toMatchObject({
      current_prompt_version_number: 2,
    });
    expect(await update(id, { system_prompt: 'Second.', title: 'x' })).toMatchObject({
      current_prompt_version_number: 2,
    });
    const back = await within(async (tx) => activatePrompt(tx, admin, await row(id), 1));
    expect(back).toMatchObject({ system_prompt: 'First.', current_prompt_version_number: 1 });
    // The next one is the third, whichever is active.
    expect(await update(id, { system_prompt: null })).toMatchObject({
      system_prompt: null,
      current_prompt_version_number: 3,
    });
    const { items } = await listPromptVersions(database.db, { id }, {});
    expect(items.map((each) => [each.version_number, each.system_prompt, each.source])).toEqual([
      [3, '', 'manual'],
      [2, 'Second.', 'manual'],
      [1, 'First.', 'manual'],
    ]);
    const page = await listPromptVersions(database.db, { id }, { limit: 2 });
    const rest = await listPromptVersions(database.db, { id }, { limit: 2, cursor: page.next_cursor! });
    expect([...page.items, ...rest.items]).toEqual(items);
    await expect(within(async (tx) => activatePrompt(tx, admin, await row(id), 9))).rejects.toMatchObject({
      kind: 'not_found',
    });
  });

  it('that many change at once has a number for each', async () => {
    const { hire, update } = await setUp();
    const { id } = await hire();
    await Promise.all(
      Array.from({ length: 8 }, async (_, index) => update(id, { system_prompt: `Prompt ${index}` })),
    );
    const { items } = await listPromptVersions(database.db, { id }, {});
    expect(items.map(({ version_number }) => version_number)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });
});

describe('permissions', () => {
  it('are all told, with their defaults, and set one by one', async () => {
    const { hire, row, within, member } = await setUp();
    const { id } = await hire();
    expect(agentPermissions(await row(id))).toMatchObject({ 'issues.create': true, 'secrets.use': false });
    const set = async (input: Record<string, boolean>) =>
      within(async (tx) => updatePermissions(tx, member, await row(id), input));
    await set({ 'issues.create': false });
    expect(await set({ 'notes.write': false })).toMatchObject({
      'issues.create': false,
      'notes.write': false,
      'agents.create': true,
    });
    expect(agentPermissions(await row(id))).toMatchObject({ 'issues.create': false });
    const told = await database.db
      .select({ details: activity.details })
      .from(activity)
      .where(and(eq(activity.entity_id, id), eq(activity.action, 'agent.permissions_changed')));
    expect(told).toHaveLength(2);
    // Already set: nothing happens.
    await set({ 'notes.write': false });
    await expect(set({ 'world.rule': true })).rejects.toMatchObject({
      kind: 'invalid',
      message: 'unknown permission: world.rule',
    });
  });

  it('are not for agents to change, and the use of secrets is for admins to give', async () => {
    const { hire, row, within, admin, member } = await setUp();
    const { id } = await hire();
    const agent = await row(id);
    const set = async (actor: Parameters<typeof updatePermissions>[1], input: Record<string, boolean>) =>
      within((tx) => updatePermissions(tx, actor, agent, input));
    await expect(set(actors.agent(agent), { 'notes.write': false })).rejects.toMatchObject({
      kind: 'forbidden',
    });
    await expect(set(member, { 'secrets.use': true })).rejects.toMatchObject({
      message: 'only admins can grant secrets.use',
    });
    expect(await set(admin, { 'secrets.use': true })).toMatchObject({ 'secrets.use': true });
  });
});

describe('the home', () => {
  it('is below the company’s, unless the agent has one of its own', async () => {
    const { company, hire, row } = await setUp();
    const { id } = await hire();
    const rules = { service_home: '/srv/acp', assigned: {} };
    const home = async () => agentHome(database.db, await row(id), rules);
    expect(await home()).toEqual({
      home_dir: `/srv/acp/companies/${company.id}/agents/${id}`,
      is_override: false,
    });
    await database.db.update(companies).set({ home_dir: '/data/acme' }).where(eq(companies.id, company.id));
    expect(await home()).toEqual({ home_dir: `/data/acme/agents/${id}`, is_override: false });
    await database.db.update(schema.agents).set({ home_dir: '/data/ada' }).where(eq(schema.agents.id, id));
    expect(await home()).toEqual({ home_dir: '/data/ada', is_override: true });
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  agentNamed,
  approve,
  createProvider,
  findApproval,
  findProvider,
  findRun,
  invokeAgent,
  listApprovals,
  listRunEvents,
  triggerIssue,
  updateProvider,
} from '@acp/core';
import type { AgentRow, RunRow } from '@acp/core';
import type { CommandName, CommandPayload, UpdateProvider } from '@acp/contract';
import { createListener, type Listener, transaction } from '@acp/db';
import { loadConfig, Vault } from '@acp/kernel';
import { callCommand } from '@acp/queue';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  createMembership,
  createUser,
  startFakeModel,
  testLogger,
  waitFor,
} from '@acp/testkit';
import type { FakeModel, TestDatabase } from '@acp/testkit';
import { startScheduler } from './main.ts';
import type { RunningScheduler } from './main.ts';

const ENCRYPTION_KEY = '7'.repeat(64);
const vault = new Vault(Buffer.from(ENCRYPTION_KEY, 'hex'));
const OWN_KEY = 'the-company-pays-with-this';
const INSTANCE_KEY = 'the-operator-pays-with-this';
const HEADER = 'a-header-that-nobody-may-see';

let db: TestDatabase;
let listener: Listener;
/** The company's and the instance's model: which one was called shows which provider was chosen. */
let own: FakeModel;
let instance: FakeModel;
const running: RunningScheduler[] = [];

beforeAll(async () => {
  db = await cloneDatabase('providers');
  void db.notifier;
  listener = createListener({ url: db.url, logger: testLogger() });
  own = await startFakeModel({ api_key: OWN_KEY, models: ['a', 'b', 'c'] });
  instance = await startFakeModel({ api_key: INSTANCE_KEY });
});

afterEach(async () => {
  await Promise.all(running.splice(0).map(async (scheduler) => scheduler.stop()));
});

afterAll(async () => {
  await Promise.all([listener.close(), own.close(), instance.close()]);
});

async function start(env: Record<string, string> = {}): Promise<void> {
  const config = loadConfig({
    DATABASE_URL: db.url,
    SERVICE_ENCRYPTION_KEY: ENCRYPTION_KEY,
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'instance-model',
    SERVICE_DEFAULT_LLM_API_KEY: INSTANCE_KEY,
    SERVICE_DEFAULT_LLM_BASE_URL: instance.url,
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
    ...env,
  });
  running.push(await startScheduler({ config, logger: testLogger() }));
}

async function scene(input: { model?: string | null; permissions?: Record<string, boolean> } = {}) {
  const tx = db.database.db;
  const company = await createCompany(tx);
  const human = actors.user(await createUser(tx), { [company.id]: 'admin' });
  const provider = await transaction(db.database, async (each) =>
    createProvider(
      each,
      human,
      company.id,
      {
        name: 'Main',
        adapter_type: 'family_compat',
        base_url: own.url,
        api_key: OWN_KEY,
        custom_headers: { 'x-team': HEADER },
      },
      vault,
      { egress: 'any' },
    ),
  );
  const { model = 'own-model', permissions = {} } = input;
  const agent = await createAgent(tx, company, { provider_id: provider.id, model, permissions });
  const issue = await createIssue(tx, company, { assignee_agent_id: agent.id });
  const run = async (of = agent, chosen?: string): Promise<RunRow> => {
    const { id } = await transaction(db.database, async (each) =>
      chosen === undefined ? invokeAgent(each, human, of) : triggerIssue(each, human, issue, chosen),
    );
    return waitFor(
      async () => {
        const found = await findRun(tx, id);
        return ['succeeded', 'failed'].includes(found!.status) && found;
      },
      { what: 'the end of the run' },
    );
  };
  const read = async () => (await findProvider(tx, provider.id))!;
  const update = async (change: UpdateProvider) => {
    const row = await read();
    return transaction(db.database, async (each) =>
      updateProvider(each, human, row, change, vault, { egress: 'any' }),
    );
  };
  return { company, human, issue, provider, run, read, update };
}

describe('a run of an agent that names a provider', () => {
  it('goes to that one with its key and headers, and tells neither', async () => {
    await start();
    const s = await scene();
    const asked = instance.count();
    own.setScript(({ headers }) => `I was told ${OWN_KEY} and ${String(headers['x-team'])}.`);
    const run = await s.run();
    expect(run).toMatchObject({ status: 'succeeded', model: 'own-model' });
    expect(own.requests.at(-1)).toMatchObject({
      model: 'own-model',
      headers: { authorization: `Bearer ${OWN_KEY}`, 'x-team': HEADER },
    });
    const events = await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, run.id);
    expect(JSON.stringify([run, events])).not.toMatch(new RegExp(`${OWN_KEY}|${HEADER}`));
    expect(instance.count()).toBe(asked);
  });

  it('asks for the model that a person chose for one run; an agent chooses none', async () => {
    await start();
    const s = await scene();
    own.setScript(() => 'Done.');
    expect(await s.run(undefined, 'a-larger-one')).toMatchObject({ model: 'a-larger-one' });
    expect(own.requests.at(-1)).toMatchObject({ model: 'a-larger-one' });
    expect(await s.run()).toMatchObject({ model: 'own-model' });
    const agent = actors.agent(await createAgent(db.database.db, s.company));
    const chosen = async () =>
      transaction(db.database, async (tx) => triggerIssue(tx, agent, s.issue, 'a-dear-one'));
    await expect(chosen()).rejects.toMatchObject({ kind: 'forbidden' });
  });

  it('answers with a model that it lists where neither the agent nor the provider names one', async () => {
    await start();
    const s = await scene({ model: null });
    own.setScript(() => 'Done.');
    expect(await s.run()).toMatchObject({ status: 'succeeded', model: 'a' });
    expect(own.requests.at(-1)).toMatchObject({ model: 'a' });
  });

  it('fails where it is disabled or gone, and never falls back', async () => {
    await start();
    const [disabled, gone] = [await scene(), await scene()];
    await disabled.update({ enabled: false });
    await db.database.pool.query('delete from providers where id = $1', [gone.provider.id]);
    const before = [own.count(), instance.count()];
    expect(await disabled.run()).toMatchObject({ status: 'failed', error: 'provider Main is disabled' });
    expect(await gone.run()).toMatchObject({ error: 'the agent’s provider does not exist' });
    expect([own.count(), instance.count()]).toEqual(before);
  });

  it('pauses it when its quota is used up; later runs fail without a call until it is over', async () => {
    await start();
    const s = await scene();
    own.setScript(() => ({
      status: 429,
      error: { message: `insufficient_quota for ${OWN_KEY}`, code: 'insufficient_quota' },
      headers: { 'retry-after': '7200' },
    }));
    const asked = own.count();
    expect(await s.run()).toMatchObject({ status: 'failed', error_category: 'quota' });
    const { paused_until, pause_reason } = await s.read();
    const inMinutes = (paused_until!.getTime() - Date.now()) / 60_000;
    expect(Math.round(inMinutes)).toBe(120);
    expect(pause_reason).toContain('insufficient_quota');
    expect(pause_reason).not.toContain(OWN_KEY);
    const second = await s.run();
    expect(second.error).toContain(`provider Main is paused until ${paused_until!.toISOString()}`);
    expect(own.count()).toBe(asked + 1);
    expect((await s.read()).paused_until).toEqual(paused_until);
    own.setScript(() => 'All is well again.');
    await s.update({ enabled: true });
    expect(await s.run()).toMatchObject({ status: 'succeeded' });
  });
});

describe('a run of an agent that names no provider', () => {
  it('goes to its company’s default and takes its model, until that is disabled', async () => {
    await start();
    const s = await scene();
    await s.update({ is_default: true, default_model: 'company-model' });
    const agent = await createAgent(db.database.db, s.company, { model: null });
    await createIssue(db.database.db, s.company, { assignee_agent_id: agent.id });
    const before = own.count();
    expect(await s.run(agent)).toMatchObject({ status: 'succeeded', model: 'company-model' });
    expect(own.count()).toBe(before + 1);
    await s.update({ enabled: false });
    expect(await s.run(agent)).toMatchObject({ status: 'succeeded', model: 'instance-model' });
    expect(own.count()).toBe(before + 1);
  });

  it('says what to choose where its company has providers and neither a default nor the instance’s own', async () => {
    await start({ SERVICE_DEFAULT_LLM_PROVIDER: '', SERVICE_DEFAULT_LLM_BASE_URL: '' });
    const s = await scene();
    const agent = await createAgent(db.database.db, s.company);
    await createIssue(db.database.db, s.company, { assignee_agent_id: agent.id });
    expect((await s.run(agent)).error).toBe(
      'no LLM provider is configured for this agent: choose one for it, or a default provider of the company',
    );
  });
});

describe('an agent hired by one that names a provider', () => {
  it('works by that provider and its model, and by the company’s default where there is one', async () => {
    await start({ SERVICE_DEFAULT_LLM_PROVIDER: '', SERVICE_DEFAULT_LLM_BASE_URL: '' });
    const s = await scene();
    const hire = async (name: string): Promise<AgentRow> => {
      own.setScript(() => `/install-agent\n\`\`\`json\n${JSON.stringify({ name })}\n\`\`\``);
      expect(await s.run()).toMatchObject({ status: 'succeeded' });
      return agentNamed(db.database.db, s.company.id, name);
    };
    const hand = await hire('Hand');
    expect(hand).toMatchObject({ provider_id: s.provider.id, model: 'own-model' });
    await createIssue(db.database.db, s.company, { assignee_agent_id: hand.id });
    own.setScript(() => 'Done.');
    expect(await s.run(hand)).toMatchObject({ status: 'succeeded', model: 'own-model' });
    await s.update({ is_default: true, default_model: 'company-model' });
    expect(await hire('Foot')).toMatchObject({ provider_id: null, model: null });
  });

  it('does so too where a person grants the hire', async () => {
    await start({ SERVICE_DEFAULT_LLM_PROVIDER: '', SERVICE_DEFAULT_LLM_BASE_URL: '' });
    const s = await scene({ permissions: { 'agents.create': false } });
    own.setScript(() => '/install-agent\n```json\n{"name":"Hand"}\n```');
    await s.run();
    await createMembership(db.database.db, s.company, { id: s.human.user_id }, 'admin');
    const request = (await listApprovals(db.database.db, s.company.id)).items[0]!;
    await transaction(db.database, async (tx) => approve(tx, s.human, (await findApproval(tx, request.id))!));
    const found = async () => agentNamed(db.database.db, s.company.id, 'Hand').catch(() => undefined);
    expect(await waitFor(found, { what: 'the hire' })).toMatchObject({
      provider_id: s.provider.id,
      model: 'own-model',
    });
  });
});

describe('a probe', () => {
  const call = async <N extends CommandName>(
    name: N,
    payload: CommandPayload<N>,
    s: Awaited<ReturnType<typeof scene>>,
  ) => callCommand(db.database, listener, name, payload, { actor: s.human, company_id: s.company.id });

  it('of a provider names its models with the stored key, and leaves it enabled when it fails', async () => {
    await start();
    const s = await scene();
    const test = async () => call('test-provider', { provider_id: s.provider.id }, s);
    expect(await test()).toEqual({
      ok: true,
      model_count: 3,
      models: ['a', 'b', 'c'],
      latency_ms: expect.any(Number),
      error: null,
    });
    await s.update({ api_key: 'wrong-key-for-it' });
    const failed = await test();
    expect(failed).toMatchObject({ ok: false, model_count: null });
    expect(failed.error).toContain('401');
    expect(failed.error).not.toContain('wrong-key-for-it');
    expect((await s.read()).enabled).toBe(true);
  });

  it('of the instance tells of each family whether it is configured, and probes those that are', async () => {
    await start();
    const s = await scene();
    const { providers } = await call('test-instance-providers', {}, s);
    expect(providers.filter(({ configured }) => configured)).toMatchObject([
      { provider: 'family_compat', probe: 'list_models', ok: true, error: null },
    ]);
    expect(
      providers.filter(({ configured }) => !configured).map(({ provider, ok }) => [provider, ok]),
    ).toEqual([
      ['family_chat_a', null],
      ['family_chat_b', null],
      ['family_search', null],
      ['family_cloud', null],
    ]);
  });
});

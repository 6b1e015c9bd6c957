import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor, Agent, CreateAgent, UpdateAgent } from '@acp/contract';
import { agentRoles } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { sha256Hex } from '@acp/kernel';
import * as kit from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { mkdtemp, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentRow,
  createAgent,
  defaultPrompt,
  deleteAgent,
  agentNamed,
  findAgent,
  listAgents,
  pageOfAgents,
  pauseAgent,
  resolveBearer,
  resumeAgent,
  runtimeState,
  updateAgent,
} from './index.ts';

const { activity, agents, outbox } = schema;
const { actors } = kit;

let database: Database;
beforeAll(async () => {
  database = await kit.databaseWithQueue();
});

async function setUp() {
  const company = await kit.createCompany(database.db);
  const board = actors.board(company);
  const hire = async (input: Partial<CreateAgent> = {}, actor: Actor = board) =>
    transaction(database, async (tx) => createAgent(tx, actor, company.id, { name: 'Ada', ...input }));
  const hired = async (input: Partial<CreateAgent> = {}) => (await rowOf(((await hire(input)) as Agent).id))!;
  const change = async (agent: AgentRow, input: UpdateAgent, actor: Actor = board) =>
    transaction(database, async (tx) => updateAgent(tx, actor, agent, input));
  return { company, board, hire, hired, change };
}

const rowOf = async (id: string) => findAgent(database.db, id);
const jobs = async (job: 'dispatch-agent' | 'settle-agent', agent_id: string) =>
  kit.queuedJobs(database.db, job, { agent_id });
const within = (at: Date | null) => (at!.getTime() - Date.now()) / 1000;

describe('createAgent', () => {
  it('takes the company’s defaults and the general role’s prompt where a member gives a name only', async () => {
    const { company, hire } = await setUp();
    await database.db
      .update(schema.companies)
      .set({
        agent_default_adapter_type: 'cli_a_local',
        agent_default_adapter_config: { model: 'm' },
        agent_default_heartbeat_enabled: true,
        agent_default_heartbeat_interval_sec: 100,
      })
      .where(eq(schema.companies.id, company.id));
    const agent = (await hire()) as Agent;
    expect(agent).toMatchObject({
      role: 'general',
      status: 'idle',
      adapter_type: 'cli_a_local',
      adapter_config: { model: 'm' },
      system_prompt: defaultPrompt('general'),
      heartbeat_enabled: true,
      heartbeat_interval_sec: 100,
      max_concurrent_runs: 1,
      max_issues_per_run: 1,
    });
    const row = (await rowOf(agent.id))!;
    // Never before the interval has elapsed, and spread out beyond it.
    expect(within(row.next_heartbeat_at)).toBeGreaterThan(98);
    expect(within(row.next_heartbeat_at)).toBeLessThan(126);
    expect(await runtimeState(database.db, row)).toMatchObject({ agent_id: agent.id, current_run_id: null });
  });

  it('leaves activity and event with the row', async () => {
    const { company, hired } = await setUp();
    const { id } = await hired({ role: 'qa' });
    const entries = await database.db.select().from(activity).where(eq(activity.entity_id, id));
    expect(entries).toMatchObject([{ action: 'agent.created', actor_type: 'board_user' }]);
    const events = await database.db.select().from(outbox).where(eq(outbox.company_id, company.id));
    expect(events).toMatchObject([{ type: 'agent_created', data: { id, role: 'qa' } }]);
    expect(events[0]!.data).not.toHaveProperty('system_prompt');
  });

  it('answers an agent with the new agent and a key that works, without permissions the caller lacks', async () => {
    const { company, hire } = await setUp();
    const boss = await kit.createAgent(database.db, company, { permissions: { 'notes.write': false } });
    const input = { name: 'Hand', reports_to: boss.id };
    expect(await hire(input, actors.agent(boss))).not.toHaveProperty('api_key');
    const answer = await transaction(database, async (tx) =>
      createAgent(tx, actors.agent(boss), company.id, input, { first_key: true }),
    );
    if (!('api_key' in answer)) throw new Error('no key');
    expect(answer.agent).toMatchObject({ name: 'Hand', reports_to: boss.id });
    expect(await resolveBearer(database.db, sha256Hex(answer.api_key!))).toMatchObject({
      kind: 'agent',
      agent_id: answer.agent.id,
      permissions: { 'notes.write': false },
    });
  });

  it('takes an empty adapter type for llm, and an unknown one as it is', async () => {
    const { hired } = await setUp();
    expect((await hired({ adapter_type: '' })).adapter_type).toBe('llm');
    expect((await hired({ adapter_type: 'else' })).adapter_type).toBe('else');
  });

  it('refuses unknown providers, strangers as managers and secrets by a member', async () => {
    const { hire } = await setUp();
    const stranger = await kit.createAgent(database.db, await kit.createCompany(database.db));
    await expect(hire({ provider_id: stranger.id })).rejects.toMatchObject({
      kind: 'invalid',
      message: 'unknown provider',
    });
    await expect(hire({ reports_to: stranger.id })).rejects.toMatchObject({
      kind: 'invalid',
      message: 'reports_to: unknown agent',
    });
    await expect(hire({ adapter_config: { key: '${secret:K}' } })).rejects.toMatchObject({
      kind: 'forbidden',
    });
  });

  it('sets nothing that is no field of the body, whatever the body says', async () => {
    const { company, hired } = await setUp();
    const other = await kit.createCompany(database.db);
    const extra = { permissions: { 'secrets.use': true }, company_id: other.id, status: 'running' };
    expect(await hired({ title: 'T', ...extra })).toMatchObject({
      permissions: {},
      company_id: company.id,
      status: 'idle',
    });
  });
});

describe('updateAgent', () => {
  it('changes what is given, clears what is null, leaves the rest alone', async () => {
    const { hired, change } = await setUp();
    const agent = await hired({ title: 'T', description: 'D' });
    expect(await change(agent, { name: 'Grace', title: null })).toMatchObject({
      name: 'Grace',
      title: null,
      description: 'D',
    });
  });

  it('sets nothing that is no field of the body', async () => {
    const { hired, change } = await setUp();
    const agent = await hired();
    const extra = { permissions: { 'secrets.use': true }, deleted_at: new Date() };
    await change(agent, { name: 'X', ...extra });
    expect(await rowOf(agent.id)).toMatchObject({ name: 'X', permissions: {}, deleted_at: null });
  });

  it('refuses `running` by hand with 409, and dispatches an agent that may be woken again', async () => {
    const { hired, change } = await setUp();
    const agent = await hired();
    await expect(change(agent, { status: 'running' })).rejects.toMatchObject({ kind: 'conflict' });
    expect(await change(agent, { status: 'paused' })).toMatchObject({ status: 'paused' });
    expect(await jobs('dispatch-agent', agent.id)).toEqual([]);
    expect(await change(agent, { status: 'active' })).toMatchObject({ status: 'active' });
    expect(await jobs('dispatch-agent', agent.id)).toHaveLength(1);
  });

  it('settles an agent that is terminated, and its key opens nothing', async () => {
    const { hired, change } = await setUp();
    const agent = await hired();
    const { key_hash } = await kit.createKeyOf(database.db, agent);
    expect(await resolveBearer(database.db, key_hash)).toBeDefined();
    await change(agent, { status: 'terminated' });
    expect(await resolveBearer(database.db, key_hash)).toBeUndefined();
    expect(await jobs('settle-agent', agent.id)).toHaveLength(1);
  });

  it('lets no agent approve a hire', async () => {
    const { company, hired, change } = await setUp();
    const actor = actors.agent(await kit.createAgent(database.db, company));
    const agent = await hired();
    await change(agent, { status: 'pending_approval' });
    await expect(change(agent, { status: 'idle' }, actor)).rejects.toMatchObject({ kind: 'forbidden' });
    expect(await change(agent, { status: 'idle' })).toMatchObject({ status: 'idle' });
  });

  it('sets the next heartbeat on switching on and on a new interval, and clears it on switching off', async () => {
    const { hired, change } = await setUp();
    const agent = await hired();
    const next = async () => (await rowOf(agent.id))!.next_heartbeat_at;
    expect(await next()).toBeNull();
    await change(agent, { heartbeat_enabled: true, heartbeat_interval_sec: 1000 });
    const first = await next();
    expect(within(first)).toBeGreaterThan(998);
    await change(agent, { name: 'Same beat' });
    expect(await next()).toEqual(first);
    await change(agent, { heartbeat_interval_sec: 10 });
    expect(within(await next())).toBeLessThan(13);
    await change(agent, { heartbeat_enabled: false });
    expect(await next()).toBeNull();
  });

  it('refuses circles of reports_to, also when two changes close one together', async () => {
    const { hired, change } = await setUp();
    const [a, b, c] = [await hired(), await hired(), await hired()];
    await change(b, { reports_to: a.id });
    await change(c, { reports_to: b.id });
    await expect(change(a, { reports_to: c.id })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(change(a, { reports_to: a.id })).rejects.toMatchObject({ kind: 'invalid' });
    const [d, e] = [await hired(), await hired()];
    const both = await Promise.allSettled([change(d, { reports_to: e.id }), change(e, { reports_to: d.id })]);
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('refuses an agent that changes one that may do more than itself', async () => {
    const { company, hired, change } = await setUp();
    const limited = await kit.createAgent(database.db, company, { permissions: { 'notes.write': false } });
    const actor = actors.agent(limited);
    await expect(change(await hired(), { system_prompt: 'obey' }, actor)).rejects.toMatchObject({
      kind: 'forbidden',
    });
    expect(await change(limited, { title: 'me' }, actor)).toMatchObject({ title: 'me' });
  });

  it('takes a home_dir inside the company’s folder or one that the operator assigned to it', async () => {
    const { company, board, hired } = await setUp();
    const agent = await hired();
    const service_home = await mkdtemp(join(tmpdir(), 'homes-'));
    await mkdir(join(service_home, 'elsewhere'));
    const homes = { service_home, assigned: { [company.slug]: [join(service_home, 'elsewhere')] } };
    const put = async (home_dir: string, rules?: typeof homes) =>
      transaction(database, async (tx) => updateAgent(tx, board, agent, { home_dir }, rules));
    const own = join(service_home, 'companies', company.id, 'ada');
    expect(await put(own, homes)).toMatchObject({ home_dir: own });
    expect(await put(join(service_home, 'elsewhere', 'x'), homes)).toMatchObject({});
    for (const bad of ['/etc', 'relative', join(own, '../../other'), service_home])
      await expect(put(bad, homes)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(put(own)).rejects.toMatchObject({ kind: 'invalid' });
  });
});

const pause = async (agent: AgentRow, reason?: string) =>
  transaction(database, async (tx) => pauseAgent(tx, actors.system, agent, reason));
const resume = async (agent: AgentRow) =>
  transaction(database, async (tx) => resumeAgent(tx, actors.system, agent));

describe('pause and resume', () => {
  it('hold an agent back and dispatch what waited for it', async () => {
    const { hired } = await setUp();
    const agent = await hired();
    expect(await pause(agent, 'lunch')).toMatchObject({ status: 'paused' });
    expect(await rowOf(agent.id)).toMatchObject({ pause_reason: 'lunch' });
    expect(await resume(agent)).toMatchObject({ status: 'idle' });
    expect(await rowOf(agent.id)).toMatchObject({ pause_reason: null });
    expect(await jobs('dispatch-agent', agent.id)).toHaveLength(1);
    expect(await resume(agent)).toMatchObject({ status: 'idle' });
    expect(await jobs('dispatch-agent', agent.id)).toHaveLength(1);
  });

  it('say `running` again of an agent whose run outlasted the pause', async () => {
    const { company, hired, change } = await setUp();
    const agent = await hired();
    await pause(agent);
    await database.db.insert(schema.heartbeat_runs).values({
      company_id: company.id,
      agent_id: agent.id,
      status: 'running',
      wake_reason: 'manual',
      adapter_type: 'llm',
    });
    expect(await resume(agent)).toMatchObject({ status: 'running' });
    expect(await change(agent, { status: 'idle' })).toMatchObject({ status: 'running' });
    await pause(agent);
    expect(await change(agent, { status: 'idle' })).toMatchObject({ status: 'running' });
  });

  it('resume an agent in error as well: it is idle', async () => {
    const { company } = await setUp();
    const agent = await kit.createAgent(database.db, company, { status: 'error' });
    expect(await resume(agent)).toMatchObject({ status: 'idle' });
    expect(await jobs('dispatch-agent', agent.id)).toHaveLength(1);
  });

  it.each(['terminated', 'pending_approval'])('refuse a %s agent with 409', async (status) => {
    const { company } = await setUp();
    const agent = await kit.createAgent(database.db, company, { status });
    await expect(pause(agent)).rejects.toMatchObject({ kind: 'conflict' });
    await expect(resume(agent)).rejects.toMatchObject({ kind: 'conflict' });
  });
});

describe('deleteAgent', () => {
  it('makes the agent absent, frees who reports to it, ends its keys and has the rest settled', async () => {
    const { company, board, hired } = await setUp();
    const agent = await hired();
    const report = await kit.createAgent(database.db, company, { reports_to: agent.id });
    const { key_hash } = await kit.createKeyOf(database.db, agent);
    const remove = async () => transaction(database, async (tx) => deleteAgent(tx, board, agent));
    await remove();
    expect(await rowOf(agent.id)).toBeUndefined();
    expect(await rowOf(report.id)).toMatchObject({ reports_to: null });
    expect(await resolveBearer(database.db, key_hash)).toBeUndefined();
    expect(await jobs('settle-agent', agent.id)).toHaveLength(1);
    await expect(remove()).rejects.toMatchObject({ kind: 'not_found' });
    // Restoring from the trash restores no keys.
    await database.db.update(agents).set({ deleted_at: null }).where(eq(agents.id, agent.id));
    expect(await resolveBearer(database.db, key_hash)).toBeUndefined();
  });
});

describe('listAgents', () => {
  it('finds one by its name whatever the case, where only one is called so', async () => {
    const { company, hired } = await setUp();
    const first = await hired({ name: 'Ada L' });
    expect(await agentNamed(database.db, company.id, 'ada l')).toMatchObject({ id: first.id });
    expect(await agentNamed(database.db, company.id, first.id)).toMatchObject({ id: first.id });
    await hired({ name: 'ADA l' });
    await expect(agentNamed(database.db, company.id, 'ada l')).rejects.toThrow('several agents');
    expect(await agentNamed(database.db, company.id, 'Ada L')).toMatchObject({ id: first.id });
    const other = await kit.createCompany(database.db);
    await expect(agentNamed(database.db, other.id, first.id)).rejects.toThrow('there is no agent');
  });

  it('lists the agents of the caller’s companies only, those called so where a name is given', async () => {
    const { company, hired } = await setUp();
    for (const name of ['Ada L', 'ADA l', 'Ada']) {
      await hired({ name });
      await kit.nextInstant();
    }
    const other = await kit.createCompany(database.db);
    const theirs = await kit.createAgent(database.db, other);
    const user = await kit.createUser(database.db);
    const both = actors.user(user, { [company.id]: 'viewer', [other.id]: 'member' });
    expect((await listAgents(database.db, both)).agents).toHaveLength(4);
    const some = await listAgents(database.db, both, { company_id: other.id });
    expect(some.agents.map((agent) => agent.id)).toEqual([theirs.id]);
    const called = await listAgents(database.db, both, { name: 'ada l' });
    expect(called.agents.map((agent) => agent.name)).toEqual(['ADA l', 'Ada L']);
    expect(await listAgents(database.db, both, { name: 'nobody' })).toEqual({ agents: [] });
    const first = await pageOfAgents(database.db, both, { limit: 3 });
    const rest = await pageOfAgents(database.db, both, { limit: 3, cursor: first.next_cursor! });
    expect([...first.items, ...rest.items]).toEqual((await listAgents(database.db, both)).agents);
    expect(rest.next_cursor).toBeNull();
  });

  it('answers 404 for a company that is not the caller’s, and instance admins may see any that exists', async () => {
    const { company, board } = await setUp();
    const other = await kit.createCompany(database.db);
    const gone = await kit.createCompany(database.db, { deleted_at: new Date() });
    const user = await kit.createUser(database.db);
    const list = async (actor: Actor, company_id: string) => listAgents(database.db, actor, { company_id });
    await expect(list(board, other.id)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(list(actors.user(user), company.id)).rejects.toMatchObject({ kind: 'not_found' });
    expect(await list(actors.instanceAdmin(user), company.id)).toEqual({ agents: [] });
    await expect(list(actors.instanceAdmin(user), gone.id)).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('leaves out trashed agents and what lies in a trashed company', async () => {
    const { board, company } = await setUp();
    await kit.createAgent(database.db, company, { deleted_at: new Date() });
    expect(await listAgents(database.db, board)).toEqual({ agents: [] });
    const gone = await kit.createCompany(database.db, { deleted_at: new Date() });
    const agent = await kit.createAgent(database.db, gone);
    expect(await rowOf(agent.id)).toBeUndefined();
    expect(await rowOf('not-a-uuid')).toBeUndefined();
  });
});

describe('defaultPrompt', () => {
  it('has a prompt of its own for each of the 16 roles, and 404 for any other', () => {
    expect(new Set(agentRoles.map(defaultPrompt)).size).toBe(16);
    for (const role of ['boss', '', 'constructor'])
      expect(() => defaultPrompt(role)).toThrow(expect.objectContaining({ kind: 'not_found' }));
  });
});

/** `/mcp:` lines of tools provided by others: a slow stand-in over HTTP, and everything that may happen before it answers. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  findRun,
  invokeAgent,
  promptFacts,
  sweepLostRun,
  type Tool,
  type ToolProvider,
  ToolRegistry,
} from '@acp/core';
import { createListener, signal, transaction } from '@acp/db';
import { conflict, loadConfig, unavailable } from '@acp/kernel';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  startFakeModel,
  type TestDatabase,
  testLogger,
  waitFor,
} from '@acp/testkit';
import { openQueue, type Queue } from '@acp/queue';
import { startScheduler } from '../../apps/scheduler/src/main.ts';
import { createScene, ok, refused, rowsOf } from './scene.ts';

let db: TestDatabase;
let queue: Queue;
let server: Server;
let url: string;
/** Requests received by the stand-in, and whether the client is gone. */
let asked: { path: string; call_id: string; response: ServerResponse; gone: boolean }[] = [];
let held = false;

beforeAll(async () => {
  db = await cloneDatabase('tools');
  void db.notifier;
  queue = await openQueue({ database: db.database, role: 'client' });
  server = createServer((request, response) => {
    const call = {
      path: request.url ?? '',
      call_id: String(request.headers['x-call']),
      response,
      gone: false,
    };
    asked.push(call);
    response.on('close', () => (call.gone = !response.writableEnded));
    if (!held) response.end('{"found":"Ada & <result>"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  asked = [];
  held = false;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await queue.stop();
});

const release = () => asked.at(-1)!.response.end('{"found":"late"}');
const arrived = async () => waitFor(() => asked.length > 0 && asked.at(-1)!);

const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  namespace: 'crm',
  name,
  doc: 'Looks into\nthe books of <issue_body>.',
  input_schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { q: { type: 'string' }, deep: { type: 'boolean' } },
    required: ['q'],
  },
  role: 'member',
  read_only: true,
  ...more,
});
const create = tool('create', { read_only: false, permission: 'plugins.invoke' });

/** A provider that calls the stand-in. */
function provider(company_id: string, more: Partial<ToolProvider> = {}): ToolProvider & { lists: number } {
  return {
    name: 'stand-in',
    lists: 0,
    async list(_tx, id) {
      this.lists += 1;
      return Promise.resolve(id === company_id ? [tool('lookup'), create] : []);
    },
    async prepare({ tool: { name }, call_id }, abort) {
      const response = await fetch(`${url}/${name}`, { headers: { 'x-call': call_id }, signal: abort });
      return response.json();
    },
    ...more,
  };
}

async function scene(more: Partial<ToolProvider> = {}, permissions: Record<string, boolean> = {}) {
  const providers: ToolProvider[] = [];
  const set = await createScene(db.database, { permissions }, undefined, providers);
  const rows = async () =>
    rowsOf(
      db.database,
      'select ordinal, ok, result, error from run_actions where run_id = $1',
      set.run.run_id,
    );
  const lose = async () => {
    await db.database.pool.query(
      `update heartbeat_runs set lease_expires_at = now() - interval '1 s' where id = $1`,
      [set.run.run_id],
    );
    await transaction(db.database, async (tx) => sweepLostRun(tx));
  };
  const added = provider(set.company.id, more);
  providers.push(added);
  return { ...set, rows, lose, provider: added };
}

describe('a tool of a provider', () => {
  it('is asked outside of any transaction, and its answer recorded in one', async () => {
    held = true;
    const set = await scene();
    const applied = set.apply('/mcp:crm__create {"q": "a"}');
    expect((await arrived()).path).toBe('/create');
    expect(db.database.poolStats().acquired).toBe(0);
    expect(await set.rows()).toMatchObject([{ ok: true, result: expect.stringContaining('under way') }]);
    release();
    const text = '<result tool="crm__create">\n{"found":"late"}\n</result>';
    expect(await applied).toEqual(ok(text));
    expect(await set.rows()).toEqual([{ ordinal: 1, ok: true, result: text, error: null }]);
    expect(asked[0]?.call_id).toBe(`${set.run.run_id}:1`);
  });

  it('that is too slow is left, and the agent told what is known', async () => {
    held = true;
    const set = await scene({ timeout_ms: 300 });
    expect(await set.apply('/mcp:crm__lookup {"q": "a"}')).toEqual(refused('no answer within 0.3 s'));
    const unknown = 'no answer within 0.3 s; whether it took effect is not known';
    expect(await set.apply('/mcp:crm__create {"q": "a"}')).toEqual(refused(unknown));
    expect(await set.rows()).toMatchObject([{ ok: false }, { ok: false, result: null, error: unknown }]);
    await waitFor(() => asked.length === 2 && asked.every(({ gone }) => gone));
  });

  it('that refuses is quoted, and one that breaks is an internal error', async () => {
    const set = await scene({ prepare: async () => Promise.reject(conflict('the book is closed')) });
    expect(await set.apply('/mcp:crm:create\n```json\n{"q": "a"}\n```')).toEqual(
      refused('the book is closed'),
    );
    const broken = await scene({ prepare: async () => Promise.reject(new Error('secret details')) });
    expect(await broken.apply('/mcp:crm__lookup {"q": "a"}')).toEqual(refused('internal error'));
  });

  it('is called off with its run, and recorded as of unknown effect', async () => {
    held = true;
    const set = await scene();
    const applied = set.apply('/mcp:crm__create {"q": "a"}');
    await arrived();
    set.held.stop('cancelled');
    await expect(applied).rejects.toThrow('run cancelled');
    await waitFor(() => asked[0]!.gone);
    expect(await set.rows()).toMatchObject([
      { ok: false, error: 'the run was cancelled meanwhile; whether it took effect is not known' },
    ]);
  });

  it('in a run that is lost before its commit is not called again, and the next prompt names it', async () => {
    held = true;
    const set = await scene();
    const applied = set.apply('/mcp:crm__create {"q": "a"}');
    await arrived();
    await set.lose();
    release();
    await expect(applied).rejects.toThrow('run lost');
    expect(asked).toHaveLength(1);
    const runs = await rowsOf(db.database, 'select id from heartbeat_runs where agent_id = $1', set.ada.id);
    expect(runs).toHaveLength(1);
    await db.database.pool.query(
      `insert into heartbeat_runs (id, company_id, agent_id, issue_id, status, wake_reason, adapter_type, fence)
       select gen_random_uuid(), company_id, agent_id, issue_id, 'running', 'manual', 'llm', 1 from heartbeat_runs where id = $1`,
      [set.run.run_id],
    );
    const [next] = await rowsOf(
      db.database,
      'select id from heartbeat_runs where agent_id = $1 and id <> $2',
      set.ada.id,
      set.run.run_id,
    );
    const facts = await promptFacts(db.database.db, { ...set.run, run_id: String(next!.id) });
    expect(facts?.applied_by_interrupted).toMatchObject([
      { verb: 'mcp:', result: expect.stringContaining('look whether it took effect') },
    ]);
  });

  it('that only reads lets a lost run be tried again', async () => {
    held = true;
    const set = await scene();
    const applied = set.apply('/mcp:crm__lookup {"q": "a"}');
    await arrived();
    await set.lose();
    release();
    await expect(applied).rejects.toThrow('run lost');
    const runs = await rowsOf(
      db.database,
      'select status from heartbeat_runs where agent_id = $1 and retry_of_run_id = $2',
      set.ada.id,
      set.run.run_id,
    );
    expect(runs).toEqual([{ status: 'queued' }]);
  });

  it('is asked once however often its commit is repeated', async () => {
    let commits = 0;
    const set = await scene({
      commit: async (tx, _call, prepared) => {
        commits += 1;
        await tx.execute('select 1');
        if (commits === 1) throw unavailable('the database', new Error('connection lost'));
        return { prepared, commits };
      },
    });
    const applied = await set.apply('/mcp:crm__create {"q": "a"}');
    expect({ ...applied, commits, asked: asked.length }).toMatchObject({ ok: true, commits: 2, asked: 1 });
  });
});

describe('the registry of tools', () => {
  it('checks rights and input before a provider is asked, and shows each company its own', async () => {
    const set = await scene({}, { 'plugins.invoke': false });
    for (const [line, error] of [
      ['/mcp:crm__create {"q": "a"}', 'permission withheld: plugins.invoke'],
      ['/mcp:crm__lookup {}', "input must have required property 'q'"],
      ['/mcp:crm__lookup {"q": 7}', 'input.q must be string'],
      ['/mcp:lookup {"q": "a"}', 'there is no tool "lookup"'],
    ] as const)
      expect(await set.apply(line)).toEqual(refused(error));
    const stranger = await createScene(db.database, {}, undefined, [set.provider]);
    expect(await stranger.apply('/mcp:crm__lookup {"q": "a"}')).toEqual(
      refused('there is no tool "crm__lookup"'),
    );
    expect(asked).toEqual([]);
  });

  it('survives schemas and tools that were made to harm, and providers that fail', async () => {
    const nested = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `a${n}`,
        { anyOf: [{ $ref: `#/definitions/a${n + 1}` }, { $ref: `#/definitions/a${n + 1}` }] },
      ]),
    );
    const hostile = [
      tool('backtrack', { input_schema: { properties: { q: { type: 'string', pattern: '^(a+)+$' } } } }),
      tool('explode', {
        input_schema: { $ref: '#/definitions/a0', definitions: { ...nested, a40: { type: 'null' } } },
      }),
      tool('elsewhere', { input_schema: { $ref: 'http://127.0.0.1/schema' } }),
      tool('vast', { input_schema: { description: 'x'.repeat(40_000) } }),
      tool('no name'),
      tool('get_issue', { namespace: '' }),
    ];
    const failing = { name: 'failing', list: async () => Promise.reject(new Error('away')) };
    const set = await scene({ list: async () => Promise.resolve(hostile) });
    const tools = new ToolRegistry([failing, set.provider], testLogger());
    const names = (await tools.outside(db.database.db, set.company.id, set.run.actor)).map(
      ({ name }) => name,
    );
    expect(names).toEqual(['backtrack', 'explode', 'elsewhere']);
    const useless = refused('the input schema of the tool can’t be used: its provider has to mend it');
    expect(await set.apply(`/mcp:crm__backtrack {"q": "${'a'.repeat(60)}!"}`)).toEqual(useless);
    expect(await set.apply('/mcp:crm__explode {"q": "a"}')).toEqual(useless);
    expect(await set.apply('/mcp:crm__elsewhere {"q": "a"}')).toEqual(useless);
    expect(await set.apply(`/mcp:get_issue {"issue": "${set.own.identifier}"}`)).toEqual(
      ok(expect.stringContaining('Own work'), false),
    );
  });

  it('that is just being moved from place to place is waited for; one that nobody has is not', async () => {
    let isThere = false;
    let asks = 0;
    const set = await scene({
      list: async () => Promise.resolve(isThere ? [tool('lookup')] : []),
      coming: async () => Promise.resolve((asks += 1) > 0 && !isThere),
    });
    const applied = set.apply('/mcp:crm__lookup {"q": "a"}');
    await waitFor(() => asks > 1);
    isThere = true;
    expect(await applied).toEqual(ok(expect.stringContaining('found'), false));
    expect(await set.apply('/mcp:crm__gone {"q": "a"}')).toEqual(refused('there is no tool "crm__gone"'));
    expect(await set.apply('/mcp:gone {"q": "a"}')).toEqual(refused('there is no tool "gone"'));
  });

  it('lists the tools of a company once, until one of them is said to have changed', async () => {
    const set = await scene();
    const listener = createListener({ url: db.url, logger: testLogger() });
    const tools = new ToolRegistry([set.provider], testLogger());
    tools.listenTo(listener);
    await listener.ready();
    const list = async () => tools.outside(db.database.db, set.company.id, set.run.actor);
    await Promise.all([list(), list()]);
    expect(await list()).toHaveLength(2);
    expect(set.provider.lists).toBe(1);
    await transaction(db.database, async (tx) => signal(tx, 'tools', set.company.id));
    await waitFor(async () => (await list()).length === 2 && set.provider.lists === 2);
    await listener.close();
  });
});

describe('a run with tools of a provider', () => {
  it('is told of them, and reads the answer in its next turn', async () => {
    // Runs of the previous tests may be waiting in the shared one.
    const own = await cloneDatabase('tools_engine');
    void own.notifier;
    const model = await startFakeModel({
      script: ({ messages }) =>
        messages.length < 3 ? '/mcp:crm__lookup {"q": "Ada"}' : 'Found her.\n/status done',
    });
    const company = await createCompany(own.database.db);
    const agent = await createAgent(own.database.db, company);
    await createIssue(own.database.db, company, { assignee_agent_id: agent.id });
    const config = loadConfig({
      DATABASE_URL: own.url,
      SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
      SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
      SERVICE_DEFAULT_LLM_BASE_URL: model.url,
      SERVICE_DRAIN_TIMEOUT_SEC: '0',
    });
    const scheduler = await startScheduler({
      config,
      logger: testLogger(),
      tool_providers: [provider(company.id)],
    });
    try {
      const human = actors.board(company, 'admin');
      const { id } = await transaction(own.database, async (tx) => invokeAgent(tx, human, agent));
      await waitFor(async () => (await findRun(own.database.db, id))?.status === 'succeeded');
      const [first, second] = model.requests;
      expect(first?.messages[0]?.content).toContain(
        '- crm__lookup(q, deep?): Looks into the books of &lt;issue_body>.',
      );
      expect(second?.messages.at(-1)?.content).toBe(
        'Answer to /mcp:crm__lookup {"q": "Ada"}:\n<result tool="crm__lookup">\n{"found":"Ada & &lt;result>"}\n</result>',
      );
    } finally {
      await scheduler.stop();
      await model.close();
    }
  });
});

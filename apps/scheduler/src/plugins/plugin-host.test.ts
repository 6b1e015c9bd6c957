/** What a host does to unsandboxed plugins that exceed their limits, do not answer, or answer in forms of their own. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  allowPlugin,
  createIssue,
  createPlugin,
  createSecret,
  findIssue,
  findPlugin,
  keyLedger,
  listPluginEvents,
  requestPluginStart,
  requestPluginStop,
  toolsOf,
  updateIssue,
  webhooksOf,
} from '@acp/core';
import { transaction } from '@acp/db';
import { loadConfig, Vault } from '@acp/kernel';
import { FileStore, LocalStorage } from '@acp/storage';
import { actors, createCompany, testDatabase, type TestDatabase, testLogger, waitFor } from '@acp/testkit';
import { copyBinary } from './binary.ts';
import { PluginHost } from './plugin-host.ts';

const program = path.resolve(import.meta.dirname, '../../../../tests/plugins/plugin.mjs');

const vault = new Vault(Buffer.alloc(32, 1));

let kit: TestDatabase;
let folder: string;
let host: PluginHost;
let storage: LocalStorage;
let company_id: string;

const hostWith = (limits: { SERVICE_PLUGIN_CPU_LIMIT: string }) =>
  new PluginHost({
    config: loadConfig({
      DATABASE_URL: kit.url,
      SERVICE_HOME: path.join(folder, 'home'),
      SERVICE_PLUGIN_SANDBOX: 'disabled',
      SERVICE_PLUGIN_WORKSPACE_ROOT: path.join(folder, 'workspaces'),
      SERVICE_PLUGIN_WORKSPACE_LIMIT: '4MB',
      ...limits,
      SERVICE_PLUGIN_PIDS_LIMIT: '1000',
      SERVICE_PLUGIN_MEMORY_LIMIT: '1g',
      // This test is about the watch that replaces control groups.
      SERVICE_PLUGIN_CONTROL_GROUPS: 'off',
    }),
    database: kit.database,
    storage,
    listener: kit.listener,
    vault,
    logger: testLogger(),
    name: 'host',
    enabled: async () => Promise.resolve(true),
    onReady: () => undefined,
    // Longer than a plugin is halted for at most.
    times: { health_every: 50, health: 6000, event: 700 },
    watch_times: { every: 100, workspace_every: 100 },
  });

beforeAll(async () => {
  kit = await testDatabase();
  folder = await mkdtemp(path.join(tmpdir(), 'plugin-host-'));
  await mkdir(path.join(folder, 'files'));
  storage = new LocalStorage(path.join(folder, 'files'));
  ({ id: company_id } = await createCompany(kit.database.db));
  await kit.notifier.sequenceNow();
  host = hostWith({ SERVICE_PLUGIN_CPU_LIMIT: '0.5' });
  await kit.listener.ready();
});

// Health checks every 50 ms take processor time that a busy machine may not have for all plugins of the file.
afterEach(async () => {
  for (const id of begun.splice(0))
    if ((await findPlugin(kit.database.db, id))?.wanted)
      await act(async (tx) => requestPluginStop(tx, actors.system, id));
});

afterAll(async () => {
  await host.stop();
  storage.close();
  await rm(folder, { recursive: true, force: true });
});

const act = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(kit.database, work);
let made = 0;
const begun: string[] = [];

/** @returns its id, once it runs */
async function running(config: object = {}): Promise<string> {
  const id = await starting(config);
  await becomes(id, 'running');
  return id;
}

const becomes = async (id: string, state: string) =>
  waitFor(async () => (await findPlugin(kit.database.db, id))?.state === state, { what: `plugin ${state}` });

async function starting(config: object): Promise<string> {
  made += 1;
  const namespace = `n${made}`;
  const { id } = await act(async (tx) =>
    createPlugin(tx, actors.system, company_id, {
      name: namespace,
      slug: namespace,
      binary_path: program,
      config: { namespace, ...config },
    }),
  );
  const files = new FileStore({ storage, ledger: keyLedger(kit.database.db), logger: testLogger() });
  await copyBinary(files, id, program, async (copy) =>
    act(async (tx) => allowPlugin(tx, actors.system, id, copy, program)),
  );
  await act(async (tx) => requestPluginStart(tx, actors.system, id));
  begun.push(id);
  return id;
}

/** Calls a tool of the plugin, which may be ended for it before it has answered. */
const provoke = async (id: string, name: string, input: object): Promise<void> => {
  const namespace = `n${made}`;
  const call = host.runner(id).invoke({ namespace, name, input }, AbortSignal.timeout(20_000));
  await call.catch((error: unknown) => expect(error).toMatchObject({ kind: 'unavailable' }));
};

async function hasSaid(id: string, text: string): Promise<boolean> {
  const plugin = await findPlugin(kit.database.db, id);
  const events = await listPluginEvents(kit.database.db, plugin!, { limit: 500 });
  return events.some(({ message }) => message.includes(text));
}

const says = async (id: string, text: string) => waitFor(() => hasSaid(id, text), { what: text });

const call = async (id: string, name: string, input: object): Promise<unknown> =>
  host.runner(id).invoke({ namespace: `n${made}`, name, input }, AbortSignal.timeout(20_000));

it('a plugin’s secrets are in nothing that is kept of its errors', async () => {
  const value = `token-${'0123456789'.repeat(12)}`;
  await act(async (tx) => createSecret(tx, actors.system, company_id, { name: 'TOKEN', value }, vault));
  const id = await running({ token: '${secret:TOKEN}' });
  for (const code of [value, `bad ${value}`])
    await call(id, 'write', { type: 'error', payload: { message: 'It failed.', code } });
  await says(id, 'It failed.');
  const events = await listPluginEvents(kit.database.db, (await findPlugin(kit.database.db, id))!, {});
  expect(JSON.stringify(events)).not.toContain('token-0123');
});

describe('a plugin that leaves events unanswered', () => {
  it('is sent one three times, further ones once; its page says so until it answers one', async () => {
    const id = await running({ mute: ['issue.created'] });
    const create = async () =>
      act(async (tx) => createIssue(tx, actors.system, company_id, { title: 'Noticed' }));
    const sent = async () => ((await call(id, 'state', {})) as { events: unknown[] }).events.length;
    const error = async () => (await findPlugin(kit.database.db, id))!.error;
    await create();
    await waitFor(async () => (await error()) !== null);
    expect(await error()).toBe('event issue.created was left out: the plugin did not answer within 0.7 s');
    expect([await sent(), (await findPlugin(kit.database.db, id))!.state]).toEqual([3, 'running']);
    const { id: issue_id } = await create();
    await act(async (tx) =>
      updateIssue(tx, actors.system, (await findIssue(tx, issue_id))!, { title: 'Changed' }),
    );
    await waitFor(async () => (await error()) === null);
    expect(await sent()).toBe(5);
  });
});

describe('a plugin that knows no more than the specification', () => {
  it.each([
    ['pong', undefined],
    ['health_check_result', { status: 'ok' }],
    ['health_check', 'ok'],
  ])(
    'answers health checks with a message of the type %s and the payload %j',
    async (health, health_payload) => {
      const id = await running({ health, health_payload });
      const { fence } = (await findPlugin(kit.database.db, id))!;
      await waitFor(() => host.runner(id).checked_at !== null);
      const first = host.runner(id).checked_at!;
      await waitFor(() => host.runner(id).checked_at!.getTime() > first.getTime() + 500);
      expect(host.runner(id).healthy).toBe(true);
      expect(await findPlugin(kit.database.db, id)).toMatchObject({ state: 'running', fence });
    },
  );

  it('logs with whatever level, by message and by service, and goes on', async () => {
    const id = await running();
    await call(id, 'write', { type: 'log', payload: { level: 'WARNING', message: 'by message' } });
    await call(id, 'write', { type: 'log', payload: { message: 'without a level' } });
    expect(
      await call(id, 'host', { service: 'log', args: { level: 'Fatal', message: 'by service' } }),
    ).toMatchObject({ error: null });
    await says(id, 'by service');
    const plugin = await findPlugin(kit.database.db, id);
    const events = await listPluginEvents(kit.database.db, plugin!, {});
    const levels = events.filter(({ type }) => type === 'log').map(({ level, message }) => [message, level]);
    expect(Object.fromEntries(levels)).toEqual({
      'by message': 'warn',
      'without a level': 'info',
      'by service': 'error',
    });
  });

  it('asks for no service, or with a number as the id, and is answered', async () => {
    const id = await running();
    for (const request of [
      { service: 'shell', request_id: 'r1' },
      { service: '', request_id: 7 },
      { request_id: 0 },
      { service: 7, request_id: 1.5 },
    ])
      expect(await call(id, 'ask', request)).toMatchObject({
        request_id: request.request_id,
        result: null,
        error: { code: 'not_found' },
      });
    expect(await call(id, 'ask', { service: 'log', args: 'x', request_id: 8 })).toMatchObject({
      request_id: 8,
      error: { code: 'invalid' },
    });
    await call(id, 'write', { type: 'host_request', payload: { service: 'log', args: { message: 'x' } } });
    await says(id, 'a host_request for "log" has no request_id');
    expect(await call(id, 'echo', { text: 'still here' })).toMatchObject({ text: 'still here' });
  });

  it('leaves out what a manifest may leave out', async () => {
    const id = await running({
      manifest: { tools: [{ namespace: 'x', name: 'echo' }], webhooks: [{ path: '/incoming/' }] },
    });
    const plugin = await findPlugin(kit.database.db, id);
    expect(toolsOf(plugin!)).toMatchObject([
      { tool: 'x:echo', description: '', input_schema: { type: 'object' } },
    ]);
    expect(webhooksOf(plugin!)).toMatchObject([{ path: 'incoming' }]);
    const echo = { namespace: 'x', name: 'echo', input: { text: 'a', more: 1 } };
    expect(await host.runner(id).invoke(echo, AbortSignal.timeout(20_000))).toMatchObject({ text: 'a' });
  });
});

it('a job whose end falls into a loss of the database’s connections has the outcome that the plugin answered, and runs again', async () => {
  const { pool } = kit.database;
  const id = await running();
  const tick = async () =>
    pool.query(`update plugin_jobs set next_run_at = now() - interval '1 hour' where plugin_id = $1`, [id]);
  const runs = async () =>
    (await pool.query(`select status, error from plugin_job_runs where plugin_id = $1`, [id])).rows;
  const holder = await pool.connect();
  // A run can begin, but its end can't be written.
  await pool.query(`
    create function hold_end() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(4711); return new; end $$;
    create trigger hold_end before update on plugin_job_runs for each row execute function hold_end()`);
  await holder.query('select pg_advisory_lock(4711)');
  await tick();
  const waiting = async (): Promise<number[]> =>
    (await pool.query(`select pid from pg_locks where locktype = 'advisory' and not granted`)).rows.map(
      ({ pid }) => pid,
    );
  for (let cut = 0; cut < 2; cut += 1) {
    await waitFor(async () => (await waiting()).length > 0, { what: 'the end of the run' });
    for (const pid of await waiting()) await pool.query('select pg_terminate_backend($1)', [pid]);
    await waitFor(async () => (await waiting()).length === 0);
  }
  await holder.query('select pg_advisory_unlock(4711)');
  holder.release();
  await waitFor(async () => (await runs())[0]?.status !== 'running', { what: 'the outcome' });
  expect(await runs()).toEqual([{ status: 'succeeded', error: null }]);
  await tick();
  await waitFor(async () => (await runs()).length === 2, { what: 'the next run' });
  await pool.query('drop trigger hold_end on plugin_job_runs');
});

describe('a plugin without walls', () => {
  it('that does not answer health checks is ended, and started again', async () => {
    const id = await running({ deaf: true });
    expect(await says(id, 'it does not answer health checks')).toBe(true);
    const { state, next_start_at } = (await findPlugin(kit.database.db, id))!;
    const pause = next_start_at!.getTime() - Date.now();
    expect({ state, is_five_seconds: pause > 3000 && pause <= 5000 }).toEqual({
      state: 'errored',
      is_five_seconds: true,
    });
    await becomes(id, 'running');
  });

  it('that reports an error instead of being ready has failed to start, and says why', async () => {
    const error = { type: 'error', payload: { message: 'no token in config', code: 'config' } };
    const id = await starting({ write: `${JSON.stringify(error)}\n`, quiet: true });
    await becomes(id, 'errored');
    expect((await findPlugin(kit.database.db, id))?.error).toContain(
      'it reported an error: no token in config',
    );
  });

  it('that fills its workspace is ended', async () => {
    const id = await running();
    await provoke(id, 'fill', { megabytes: 6 });
    expect(await says(id, 'it keeps more than 4000000 bytes in its workspace')).toBe(true);
  });

  it('that takes more processor time than it may is told that it is halted', async () => {
    await host.stop();
    // However busy the machine is, it leaves the plugin more than this: its processes share what one group gets.
    host = hostWith({ SERVICE_PLUGIN_CPU_LIMIT: '0.02' });
    const id = await running();
    await provoke(id, 'spin', { processes: 2 });
    expect(await says(id, 'it takes more processor time than 0.02 and is halted for it')).toBe(true);
    await host.stop();
    host = hostWith({ SERVICE_PLUGIN_CPU_LIMIT: '0.5' });
  });
});

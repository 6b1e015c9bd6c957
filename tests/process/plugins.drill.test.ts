/**
 * Plugins from the outside: managed at the web tier, run by two schedulers, some of them malicious. `plugins.drill.test.ts` has what
 * becomes of them when a scheduler ends.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { type TestDatabase, waitFor } from '@acp/testkit';
import { type Operator, type Plugin, program } from '../plugins/operator.ts';
import { badStarts } from '../plugins/bad-starts.ts';
import { here, isBounded, shutIn, tryToEscape, withBubblewrap } from '../plugins/shut-in.ts';
import { startPluginTiers, type PluginTiers } from './plugin-tiers.ts';
import { type Api, createTeam } from './api.ts';

let tiers: PluginTiers;
let db: TestDatabase;
let api: Api;
let base_url: string;
let company_id: string;
let operator: Operator;
let install: Operator['install'];
let act: Operator['act'];
let done: Operator['done'];
let look: Operator['look'];
let log: Operator['log'];
let refusal: Operator['refusal'];
let running: Operator['running'];
let invoke: Operator['invoke'];
let result: Operator['result'];
let host: Operator['host'];
let remove: Operator['remove'];
let home: string;
let outside: Server;
/** Keeps running next to all others. */
let oldest: Plugin;
let oldest_since: number;

beforeAll(async () => {
  tiers = await startPluginTiers();
  ({ db, api, url: base_url, company_id, home, operator } = tiers);
  ({ install, act, done, look, log, refusal, running, invoke, result, host, remove } = operator);
  outside = createServer((_, response) => response.end('reached')).listen(0, '127.0.0.1');
  await once(outside, 'listening');
  await writeFile(path.join(home, 'secret'), 'of the host');
  oldest = await running();
  oldest_since = performance.now();
});

afterAll(async () => {
  await tiers.stop();
  outside.close();
});

describe('approval', () => {
  it('goes through its states, refuses starts by name, and leaves an audit', async () => {
    const plugin = await install();
    expect(plugin).toMatchObject({ state: 'installed', approval_state: 'pending' });
    expect(await refusal(await act(plugin, 'start'))).toEqual([409, 'plugin is pending approval']);
    const allowed = await done(plugin, 'allow');
    expect(allowed.approved_binary_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(await done(plugin, 'ban')).toMatchObject({ approval_state: 'banned' });
    expect(await refusal(await act(plugin, 'start'))).toEqual([409, 'plugin is banned']);
    expect(await done(plugin, 'rescind-ban')).toMatchObject({
      approval_state: 'pending',
      approved_binary_hash: null,
    });
    expect(await refusal(await act(plugin, 'rescind-ban'))).toEqual([409, 'plugin is not banned']);
    const { raw_key } = await api.call<{ raw_key: string }>(
      'POST',
      `/api/companies/${company_id}/board-user-keys`,
      { role: 'member' },
    );
    const headers = { authorization: `Bearer ${raw_key}` };
    const denied = await fetch(`${base_url}/api/plugins/${plugin.id}/allow`, { method: 'POST', headers });
    expect(denied.status).toBe(403);
    const audit = await api.call<{ plugin_id: string; action: string }[]>(
      'GET',
      `/api/companies/${company_id}/plugins/audit`,
    );
    const actions = audit.filter(({ plugin_id }) => plugin_id === plugin.id).map(({ action }) => action);
    expect(actions.toReversed()).toEqual([
      'plugin.installed',
      'plugin.allowed',
      'plugin.banned',
      'plugin.ban_rescinded',
      'plugin.allow_denied',
    ]);
    expect(await remove(plugin)).toBe(204);
    expect((await api.send('GET', `/api/plugins/${plugin.id}`)).status).toBe(404);
  });

  it('is of a file that has changed since reverted; what runs is the copy, whatever becomes of the file', async () => {
    const binary = path.join(home, 'changing.mjs');
    await copyFile(program, binary);
    const plugin = await running({}, binary);
    await writeFile(binary, '#!/bin/sh\nexit 7\n');
    expect(await result(plugin, 'echo', { text: 'still' })).toMatchObject({ text: 'still' });
    await done(plugin, 'stop');
    expect(await refusal(await act(plugin, 'start'))).toEqual([
      409,
      'plugin binary hash changed since approval; reverted to pending',
    ]);
    expect(await look(plugin)).toMatchObject({ approval_state: 'pending', state: 'stopped' });
    const [entry] = await log(plugin);
    expect(entry).toMatchObject({
      type: 'approval',
      details: { approved_hash: expect.any(String), actual_hash: expect.any(String) },
    });
    await remove(plugin);
  });

  it.each([
    ['is not there', '/nowhere/at/all', "plugin binary can't be read: ENOENT"],
    ['is a folder', '/usr', 'plugin binary is not a file'],
    ['is an endless device', '/dev/zero', 'plugin binary is not a file'],
  ])('of a binary that %s is refused', async (_, binary, reason) => {
    const plugin = await install({}, binary);
    expect(await refusal(await act(plugin, 'allow'))).toEqual([409, reason]);
  });

  it('of a file that is no program gives no start, and nothing of what stands in it', async () => {
    const plugin = await install({}, path.join(home, 'secret'));
    await done(plugin, 'allow');
    const [status, error] = await refusal(await act(plugin, 'start'));
    expect([status, error]).toEqual([409, expect.stringContaining('plugin binary is not a program')]);
    expect(JSON.stringify(await log(plugin))).not.toContain('of the host');
    await remove(plugin);
  });
});

describe('a plugin', () => {
  it('starts, is called, gets its webhooks, stops and starts again', async () => {
    const plugin = await running();
    expect(plugin).toMatchObject({ state: 'running', sandbox: here.reported, error: null });
    expect(await refusal(await act(plugin, 'start'))).toEqual([409, 'plugin is already running']);
    expect(await result(plugin, 'echo', { text: 'hello' })).toMatchObject({ text: 'hello' });
    const wrong = await invoke(plugin, 'echo', { text: 7 });
    expect(await refusal(wrong)).toEqual([400, 'input.text must be string']);
    expect(await refusal(await invoke(plugin, 'fail'))).toEqual([409, 'the tool failed: this tool fails']);
    expect((await invoke(plugin, 'nothing')).status).toBe(404);
    expect(await result(plugin, 'say', { text: 'a%NULb' })).toEqual({ ab: 'ab' });
    const tools = await api.call<{ tool: string }[]>('GET', `/api/companies/${company_id}/plugins/tools`);
    const mine = tools.find(({ tool }) => tool.endsWith(':echo'))!.tool;
    const called = await api.call('POST', `/api/companies/${company_id}/plugins/tools/invoke`, {
      tool: mine,
      input: { text: 'x' },
    });
    expect(called).toMatchObject({ tool: mine, result: { text: 'x' } });
    const [{ path: hook }] = (await api.call<{ path: string }[]>(
      'GET',
      `/api/plugins/${plugin.id}/webhooks`,
    )) as [{ path: string }];
    const url = `/api/companies/${company_id}/plugins/webhooks/${hook}`;
    await api.call('POST', url, { small: true });
    await api.call('POST', url, { large: 'y'.repeat(10 * 1024 * 1024 - '{"large":""}'.length) });
    expect((await api.send('POST', `${url}x`, {})).status).toBe(404);
    const { webhooks, init } = await waitFor(async () => {
      const seen = await result<{ webhooks: Record<string, unknown>[]; init: object }>(plugin, 'state');
      return seen.webhooks.length === 2 && seen;
    });
    expect(webhooks[0]).toMatchObject({ path: `/${hook}`, body: '{"small":true}', body_encoding: 'utf8' });
    expect(webhooks[1]).toMatchObject({ body: null, length: 10 * 1024 * 1024 });
    expect(Object.keys(webhooks[0]!.headers as object)).not.toEqual(expect.arrayContaining(['cookie']));
    expect(init).toMatchObject({
      plugin_id: plugin.id,
      company_id,
      host_capabilities: ['http_fetch', 'log'],
    });
    expect(await done(plugin, 'stop')).toMatchObject({ state: 'stopped' });
    for (const what of ['tools', 'jobs', 'webhooks'])
      expect(await api.call('GET', `/api/plugins/${plugin.id}/${what}`)).toEqual([]);
    expect(await refusal(await act(plugin, 'stop'))).toEqual([409, 'plugin is not running']);
    expect(await done(plugin, 'start')).toMatchObject({ state: 'running' });
    expect(await done(plugin, 'restart')).toMatchObject({ state: 'running' });
    const states = (await log(plugin))
      .filter(({ type }) => type === 'lifecycle')
      .map(({ to_state }) => to_state);
    expect(states.toReversed()).toEqual([
      'installed',
      'ready',
      'running',
      'stopped',
      'ready',
      'running',
      'stopped',
      'ready',
      'running',
    ]);
    const off = await api.call<Plugin>('PUT', `/api/plugins/${plugin.id}`, { enabled: false });
    expect(off).toMatchObject({ state: 'disabled' });
    expect(await refusal(await act(plugin, 'start'))).toEqual([409, 'plugin is disabled']);
    expect(await api.call('PUT', `/api/plugins/${plugin.id}`, { enabled: true })).toMatchObject({
      state: 'stopped',
    });
    expect(await remove(plugin)).toBe(204);
  });

  it('gets the events of its company in order, also those of while it was away, and its jobs', async () => {
    const plugin = await running();
    const issue = async (title: string) => api.call('POST', `/api/companies/${company_id}/issues`, { title });
    const other = await createTeam(api, []);
    await issue('one');
    await api.call('POST', `/api/companies/${other.company_id}/issues`, { title: 'foreign' });
    const titles = async () => {
      const { events } = await result<{ events: { event_type: string; data: { title: string } }[] }>(
        plugin,
        'state',
      );
      return events.filter(({ event_type }) => event_type === 'issue.created').map(({ data }) => data.title);
    };
    await waitFor(async () => (await titles()).length === 1);
    await done(plugin, 'stop');
    await issue('two');
    await issue('three');
    await done(plugin, 'start');
    expect(
      await waitFor(async () => {
        const seen = await titles();
        return seen.length === 2 && seen;
      }),
    ).toEqual(['two', 'three']);
    // Events deleted before they were delivered are reported as a gap.
    await done(plugin, 'stop');
    await issue('forgotten');
    const { pool } = db.database;
    await waitFor(
      async () => (await pool.query(`select from events where data->>'title' = 'forgotten'`)).rowCount,
    );
    await pool.query('delete from events');
    await done(plugin, 'start');
    const gap = await waitFor(async () => (await result<{ events: object[] }>(plugin, 'state')).events[0]);
    expect(gap).toMatchObject({ event_type: 'reset', data: { missed: expect.any(Number) }, event_id: null });
    // A missed tick, simulated by moving it into the past.
    await db.database.pool.query(
      `update plugin_jobs set next_run_at = now() - interval '3 hours' where plugin_id = $1`,
      [plugin.id],
    );
    const jobs = await waitFor(async () => {
      const [job] = await api.call<{ name: string; runs: { status: string }[] }[]>(
        'GET',
        `/api/plugins/${plugin.id}/jobs`,
      );
      return job!.runs.some(({ status }) => status === 'succeeded') && job;
    });
    expect(jobs).toMatchObject({
      name: 'tick',
      schedule: '* * * * *',
      runs: expect.arrayContaining([expect.objectContaining({ result: { ran: true } })]),
    });
    expect((await result<{ jobs: unknown[] }>(plugin, 'state')).jobs.length).toBeLessThanOrEqual(2);
    await remove(plugin);
  });

  it('has what it was granted of its host, and nothing else', async () => {
    const secret = `hidden-${randomBytes(8).toString('hex')}`;
    for (const name of ['API_TOKEN', 'OTHER_TOKEN'])
      await api.call('POST', `/api/companies/${company_id}/secrets`, { name, value: `${name}-${secret}` });
    const plugin = await running({ token: '${secret:API_TOKEN}', log: `I was told API_TOKEN-${secret}` });
    const { port } = outside.address() as AddressInfo;
    for (const url of [
      `http://127.0.0.1:${port}/`,
      `http://localhost:${port}/`,
      `http://0x7f000001:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://2130706433:${port}/`,
      'http://169.254.169.254/',
    ])
      expect(await host(plugin, 'http_fetch', { url })).toMatchObject({
        result: null,
        error: { code: 'invalid', message: expect.stringContaining('refused') },
      });
    for (const service of ['kv', 'secret', 'issues.read', 'issues.comment', 'metrics'])
      expect(await host(plugin, service, {})).toMatchObject({ error: { code: 'not_granted' } });
    expect(await host(plugin, 'shell', {})).toMatchObject({ error: { code: 'not_found' } });
    expect(await host(plugin, 'log', { level: 'loud' })).toMatchObject({ error: { code: 'invalid' } });
    const lines = await waitFor(async () => {
      const found = await log(plugin);
      return (
        found.some(({ type }) => type === 'denied') &&
        found.some(({ message }) => message.startsWith('I was told')) &&
        found
      );
    });
    expect(JSON.stringify(lines)).not.toContain(secret);
    expect((await look(plugin)) as unknown).toMatchObject({ config: { token: '${secret:API_TOKEN}' } });
    const { identifier } = await api.call<{ identifier: string }>(
      'POST',
      `/api/companies/${company_id}/issues`,
      { title: 'Read me' },
    );
    await api.call('PUT', `/api/plugins/${plugin.id}`, {
      host_capabilities: ['log', 'kv', 'secret:API_TOKEN', 'issues.read', 'issues.comment', 'metrics'],
    });
    await done(plugin, 'restart');
    expect(await host(plugin, 'secret', { name: 'API_TOKEN' })).toMatchObject({
      result: { value: `API_TOKEN-${secret}` },
    });
    expect(await host(plugin, 'secret', { name: 'OTHER_TOKEN' })).toMatchObject({
      error: { code: 'not_granted' },
    });
    expect(await host(plugin, 'http_fetch', { url: 'https://example.com' })).toMatchObject({
      error: { code: 'not_granted' },
    });
    const kv = async (...ops: object[]) => host(plugin, 'kv', { ops });
    expect(await kv({ op: 'set', key: 'a', value: { n: 1 } }, { op: 'get', key: 'a' })).toMatchObject({
      result: { results: [{ version: 1 }, { value: { n: 1 }, version: 1 }] },
    });
    expect(
      await kv({ op: 'set', key: 'b', value: 1 }, { op: 'set', key: 'a', value: 2, if_version: 7 }),
    ).toMatchObject({ error: { code: 'conflict' } });
    expect(await kv({ op: 'list' })).toMatchObject({ result: { results: [{ keys: ['a'], more: false }] } });
    expect(await result(plugin, 'store', { length: 300_000 })).toMatchObject({
      error: { code: 'too_large' },
    });
    expect(
      await host(plugin, 'issues.comment', { issue: identifier, body_markdown: 'From the plugin' }),
    ).toMatchObject({ error: null });
    expect(await host(plugin, 'issues.read', { issue: identifier })).toMatchObject({
      result: { issue: { title: 'Read me' }, comments: [{ body_markdown: 'From the plugin' }] },
    });
    expect(await host(plugin, 'metrics', { name: 'synced', kind: 'counter', value: 2 })).toMatchObject({
      error: null,
    });
    await remove(plugin);
  });
});

withBubblewrap('the sandbox', () => {
  it('keeps the network, other processes, the host’s files and the root from it', async () => {
    const plugin = await running();
    const { port } = outside.address() as AddressInfo;
    const outwards = { port, secret_file: path.join(home, 'secret') };
    expect(await tryToEscape(plugin, operator, outwards)).toEqual(shutIn);
    const { bounds: told } = await api.call<{ bounds: object[] }>('GET', `/api/plugins/${plugin.id}/health`);
    expect(told).toContainEqual({ bound: 'network', held_by: 'namespace', limit: 'none' });
    expect(told).toContainEqual({
      bound: 'memory',
      // Enforced by the kernel if this user may create control groups.
      held_by: expect.stringMatching(/^(control_group|watch)$/),
      limit: '256m',
    });
    await remove(plugin);
  });

  it('ends one that takes too much memory, and bounds how many processes it has', async () => {
    const plugin = await running();
    expect(await isBounded(plugin, operator, 'it takes more memory than 256m')).toBe(true);
    await remove(plugin);
  });
});

describe('a plugin that means no good', () => {
  it.each(badStarts)('and %s does not start, and says why', async (_, config, reason) => {
    const plugin = await install(config);
    await done(plugin, 'allow');
    const [status, error] = await refusal(await act(plugin, 'start'));
    expect({ status, error }).toEqual({ status: 409, error: expect.stringContaining(reason) });
    expect(await look(plugin)).toMatchObject({ state: 'errored', error: expect.stringContaining(reason) });
    await remove(plugin);
  });

  it.each([
    ['garbage', 'a line is not JSON'],
    ['oversized', 'longer than 1048576 bytes'],
  ])('and answers with %s is ended, and started again', async (tool, reason) => {
    const plugin = await running();
    expect((await invoke(plugin, tool)).status).toBe(503);
    await waitFor(async () => (await log(plugin)).some(({ message }) => message.includes(reason)));
    await waitFor(async () => (await look(plugin)).state === 'running');
    expect(await result(plugin, 'echo', { text: 'again' })).toMatchObject({ text: 'again' });
    await remove(plugin);
  });

  it('and answers twice, or floods the log, bothers nobody', async () => {
    const plugin = await running();
    expect(await result(plugin, 'twice')).toBe('first');
    expect(await result(plugin, 'flood', { lines: 5000 })).toBe(5000);
    expect(await result(plugin, 'echo', { text: 'fine' })).toMatchObject({ text: 'fine' });
    const lines = await waitFor(async () => {
      const found = await log(plugin);
      return found.some(({ message }) => message.includes('lines were left out')) && found;
    });
    expect(lines.length).toBeLessThan(200);
    await remove(plugin);
  });

  it('and crashes three times in five minutes stays down until it is restarted by hand', async () => {
    const plugin = await running({ exit_after: 500, stderr: 'boom' });
    const down = await waitFor(async () => {
      const found = await log(plugin);
      return found.some(({ message }) => message.includes('it stays down')) && look(plugin);
    });
    expect(down).toMatchObject({ state: 'errored', error: expect.stringContaining('boom') });
    expect(await refusal(await act(plugin, 'start'))).toEqual([409, 'plugin is errored: restart it']);
    await api.call('PUT', `/api/plugins/${plugin.id}`, { config: { namespace: 'mended' } });
    expect(await done(plugin, 'restart')).toMatchObject({ state: 'running', error: null });
    await remove(plugin);
  });

  it('leaves a well-behaved neighbour alone, which outlives every deadline of its start', async () => {
    await waitFor(() => performance.now() - oldest_since > 16_000);
    const crashes = (await log(oldest)).filter(({ to_state }) => to_state === 'errored');
    expect(crashes).toEqual([]);
    expect(await result(oldest, 'echo', { text: 'still' })).toMatchObject({ text: 'still' });
  });

  it('and does not end is killed after five seconds', async () => {
    const plugin = await running({ stubborn: true });
    const begun = performance.now();
    expect(await done(plugin, 'stop')).toMatchObject({ state: 'stopped' });
    expect(performance.now() - begun).toBeGreaterThan(4500);
    await remove(plugin);
  });
});

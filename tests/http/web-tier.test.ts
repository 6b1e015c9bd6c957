/** The tier as started by the launcher: what it serves besides the API, and how it stops. */
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig, newId } from '@acp/kernel';
import { cloneDatabase, testLogger } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { startHealthServer } from '../../apps/web/src/health-server.ts';
import { startWeb } from '../../apps/web/src/main.ts';
import type { RunningWeb } from '../../apps/web/src/main.ts';
import { createCast } from './cast.ts';
import type { Cast } from './cast.ts';

let kit: TestDatabase;
let cast: Cast;
const running: Pick<RunningWeb, 'stop'>[] = [];

beforeAll(async () => {
  kit = await cloneDatabase('web_tier');
});

afterEach(async () => {
  for (const tier of running.splice(0)) await tier.stop();
});

const environment = (more: Record<string, string> = {}) => ({
  config: loadConfig({ DATABASE_URL: kit.url, PORT: '0', SERVICE_DRAIN_TIMEOUT_SEC: '2', ...more }),
  logger: testLogger(),
});

async function start(more?: Record<string, string>): Promise<RunningWeb> {
  const tier = await startWeb(environment(more));
  running.push(tier);
  return tier;
}

describe('the web tier', () => {
  it('starts on an empty database: it gives a link to set it up, which opens', async () => {
    const { setup_url, url } = await start({ DATABASE_URL: (await cloneDatabase('first_start')).url });
    const { pathname, search } = new URL(setup_url ?? '');
    expect(pathname).toBe('/setup');
    expect((await fetch(url + pathname + search)).status).toBe(200);
    expect((await fetch(`${url}/setup?token=wrong`)).status).toBe(403);
  });

  it('finds its port taken: it says so, and leaves no connection behind', async () => {
    const { address } = await start();
    const empty = await cloneDatabase('taken_port');
    const failing = start({ DATABASE_URL: empty.url, PORT: String(address.port) });
    await expect(failing).rejects.toThrow('EADDRINUSE');
    const left = await kit.database.pool.query(
      `select application_name from pg_stat_activity where datname = $1 and application_name like 'web%'`,
      [new URL(empty.url).pathname.slice(1)],
    );
    expect(left.rows).toEqual([]);
  });

  it('serves health, pages, the API and its description, each under the same headers', async () => {
    cast ??= await createCast(kit.database);
    const { url } = await start();
    for (const path of ['/healthz', '/login', '/api/openapi.json', '/api/docs']) {
      const response = await fetch(url + path);
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get('content-security-policy')).toContain("default-src 'self'");
      expect(response.headers.get('x-request-id')).not.toBeNull();
    }
    const me = await fetch(`${url}/api/me`, { headers: cast.viewer.headers });
    expect(me.status).toBe(200);
  });

  it('describes its API on a page without script or style of its own', async () => {
    const { url } = await start();
    const page = await (await fetch(`${url}/api/docs`)).text();
    expect(page).toContain('/api/issues/{issueId}');
    expect(page).not.toMatch(/<script|<style|style=|onclick=|(?:src|href|action)="(?:https?:)?\/\//i);
  });

  it('has a HEAD wherever it has a GET, and refuses other methods of its health routes', async () => {
    cast ??= await createCast(kit.database);
    const { url } = await start();
    const headers = { ...cast.agent.headers, accept: 'application/json' };
    const paths = ['/healthz', '/api/health', '/api/docs', '/api/openapi.json', '/api/live/events', '/login'];
    for (const path of [...paths, '/static/app.css', '/metrics']) {
      const head = await fetch(url + path, { method: 'HEAD', headers });
      expect({ path, status: head.status, body: await head.text() }).toEqual({ path, status: 200, body: '' });
    }
    for (const path of [
      '/healthz',
      '/healthz/live',
      '/healthz/ready',
      '/readyz',
      '/metrics',
      '/api/health',
    ]) {
      const answer = await fetch(url + path, { method: 'POST' });
      expect([path, answer.status, answer.headers.get('allow')]).toEqual([path, 405, 'GET, HEAD']);
      expect(await answer.json()).toEqual({ error: 'method not allowed' });
    }
  });

  it('is not ready without a recent backup, unless that is not checked; the metric tells when it was', async () => {
    interface Row {
      name: string;
      ok: boolean;
    }
    const backupRow = async (url: string): Promise<Row | undefined> => {
      const { checks } = (await (await fetch(`${url}/readyz`)).json()) as { checks: Row[] };
      return checks.find(({ name }) => name === 'backup');
    };
    const { url } = await start();
    const unchecked = await start({ SERVICE_READYZ_BACKUP_CHECK: 'disable' });
    const threshold_hours = 36;
    const none = { ok: false, since_hours: null, threshold_hours, detail: 'no backup was made yet' };
    expect(await backupRow(url)).toMatchObject(none);
    expect(await backupRow(unchecked.url)).toMatchObject({ ok: true, threshold_hours });
    await kit.database.pool.query(`insert into backups (status, trigger, claimed_by, started_at)
      values ('succeeded', 'operator', 'test', '2026-01-01T00:00:00Z'), ('failed', 'operator', 'test', now())`);
    expect(await backupRow(url)).toMatchObject({ ok: false, detail: 'the last backup is too old' });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(/^service_backup_last_success_timestamp_seconds 1767225600$/m);
    await kit.database.pool.query(`update backups set started_at = now() - interval '90 minutes'`);
    expect(await backupRow(url)).toMatchObject({ ok: true, since_hours: 1.5, threshold_hours });
  });

  it('stops while a live stream is open: the stream ends well and the port is free', async () => {
    cast ??= await createCast(kit.database);
    // If it waited for the stream, the test would time out.
    const tier = await start({ SERVICE_DRAIN_TIMEOUT_SEC: '3600' });
    const stream = await fetch(`${tier.url}/api/live/events`, { headers: cast.agent.headers });
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    await running.pop()!.stop();
    await expect(stream.text()).resolves.toContain('retry:');
    await expect(fetch(`${tier.url}/healthz`)).rejects.toThrow('fetch failed');
  });

  it('opens a stream of topics that exist, and refuses others as any bad request', async () => {
    cast ??= await createCast(kit.database);
    const tier = await start();
    const { headers } = cast.agent;
    const url = `${tier.url}/api/live/events?topic=`;
    const refused = await fetch(`${url}issues,planets`, { headers });
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { error: 'query.topic: unknown topic planets' },
    ]);
    expect((await fetch(`${url}run:1`, { headers })).status).toBe(400);
    const many = Array.from({ length: 51 }, () => `issue:${newId()}`).join();
    expect((await fetch(url + many, { headers })).status).toBe(400);
    const stream = await fetch(`${url}runs,issue:${newId()}&after=0`, { headers });
    expect(stream.status).toBe(200);
    const created = async (path: string, body: object) =>
      fetch(`${tier.url}/api/companies/${cast!.company_id}${path}`, {
        method: 'POST',
        headers: { ...cast!.board_member.headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const board = await fetch(`${url}issues`, { headers });
    expect((await created('/issues', { title: 'Told on the board' })).status).toBe(201);
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of board.body!) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      if (text.includes('Told on the board')) break;
    }
    expect(text).toMatch(/event: issue_created/);
    await running.pop()!.stop();
    expect(await stream.text()).not.toContain('issue_created');
  });

  it('stops right after a key was used: the time of use is written all the same', async () => {
    cast ??= await createCast(kit.database);
    const { url } = await start();
    expect((await fetch(`${url}/api/agents`, { headers: cast.board_member.headers })).status).toBe(200);
    await running.pop()!.stop();
    const { rows } = await kit.database.pool.query('select last_used_at from board_user_keys where id = $1', [
      cast.board_member.key_id,
    ]);
    expect(rows[0].last_used_at).toBeInstanceOf(Date);
  });

  it('counts requests over the limit: 429 with an error', async () => {
    const { url } = await start({ RATE_LIMIT_RPM: '2' });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await fetch(`${url}/api/me`)).status);
    expect(statuses).toEqual([401, 401, 429]);
  });
});

describe('a process of role scheduler', () => {
  it('serves health and nothing else', async () => {
    const health = await startHealthServer(environment());
    running.push(health);
    const statuses = await Promise.all(
      ['/healthz', '/healthz/live', '/metrics', '/api/me', '/login', '/'].map(
        async (path) => (await fetch(health.url + path)).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 200, 404, 404, 404]);
  });
});

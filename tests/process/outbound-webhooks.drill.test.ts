/** Outbound webhooks from the outside: set up at the web tier, sent by schedulers, received by the test. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cloneDatabase, killServices, startService, waitFor } from '@acp/testkit';
import type { ServiceProcess, TestDatabase } from '@acp/testkit';
import { baseEnv, createTeam, signIn } from './api.ts';
import type { Api } from './api.ts';

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  title: string;
  company_id: string;
}

interface Webhook {
  id: string;
  secret: string;
  enabled: boolean;
  failing_since: string | null;
}

interface Delivery {
  id: string;
  status: string;
  attempts: number;
  response_status: number | null;
  error: string | null;
}

type Answer = (response: ServerResponse, request: Received) => void;

const ok: Answer = (response) => void response.writeHead(204).end();

/** Records requests, and answers as configured: with success by default. */
async function startReceiver() {
  const received: Received[] = [];
  let answer = ok;
  const server: Server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { company_id, data } = JSON.parse(body) as { company_id: string; data: { title: string } };
      const got = { headers: request.headers, body, title: data.title, company_id };
      received.push(got);
      answer(response, got);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/hook`,
    /** Requests of one company: deliveries left by other tests are retried in the meantime. */
    received: (company_id: string) => received.filter((each) => each.company_id === company_id),
    count: () => received.length,
    answer: (next: Answer) => (answer = next),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

let db: TestDatabase;
let api: Api;
let env: Record<string, string>;
let web: ServiceProcess;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let elsewhere: Awaited<ReturnType<typeof startReceiver>>;
const schedulers: ServiceProcess[] = [];

async function startScheduler(): Promise<ServiceProcess> {
  const scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' });
  schedulers.push(scheduler);
  return scheduler;
}

beforeAll(async () => {
  db = await cloneDatabase('webhooks');
  receiver = await startReceiver();
  elsewhere = await startReceiver();
  env = {
    ...baseEnv,
    DATABASE_URL: db.url,
    SERVICE_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    SERVICE_WEBHOOK_ALLOWED_HOSTS: `127.0.0.1:${receiver.port}`,
    SERVICE_WEBHOOK_TIMEOUT_SEC: '8',
  };
  [web] = await Promise.all([startService({ ...env, SERVICE_ROLE: 'web' }), startScheduler()]);
  api = await signIn(web);
});

afterEach(() => {
  receiver.answer(ok);
});

afterAll(async () => {
  await killServices();
  receiver.close();
  elsewhere.close();
});

async function company(): Promise<string> {
  return (await createTeam(api, [])).company_id;
}
const titles = (company_id: string) => receiver.received(company_id).map(({ title }) => title);
const listen = async (company_id: string, more: object = {}) =>
  api.call<Webhook>('POST', `/api/companies/${company_id}/webhooks`, {
    url: receiver.url,
    events: ['issue.created'],
    ...more,
  });
const issue = async (company_id: string, title: string) =>
  api.call('POST', `/api/companies/${company_id}/issues`, { title });
/** Newest first. */
const deliveries = async ({ id }: Pick<Webhook, 'id'>) =>
  api.call<Delivery[]>('GET', `/api/webhooks/${id}/deliveries`);
const one = async (webhook: Webhook, wanted: (delivery: Delivery) => boolean) =>
  waitFor(async () => (await deliveries(webhook)).find(wanted));
/** Ends the pause after a failure. */
const hurry = async ({ id }: Webhook) =>
  db.database.pool.query('update webhooks set next_attempt_at = now() where id = $1', [id]);

describe('an outbound webhook', () => {
  it('gets the events of its patterns and its company, signed, in order', async () => {
    const [mine, other] = [await company(), await company()];
    const webhook = await listen(mine);
    await issue(other, 'of another company');
    for (const title of ['one', 'two', 'three']) await issue(mine, title);
    await api.call('POST', `/api/companies/${mine}/agents`, { name: 'Ada', role: 'engineer' });
    await waitFor(() => titles(mine).length === 3);
    expect(titles(mine)).toEqual(['one', 'two', 'three']);
    const [{ headers, body }] = receiver.received(mine) as [Received];
    const timestamp = String(headers['x-service-timestamp']);
    expect(headers['x-service-signature']).toBe(
      createHmac('sha256', webhook.secret).update(`${timestamp}.${body}`).digest('hex'),
    );
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(300);
    expect(headers['x-service-event']).toBe('issue.created');
    expect(JSON.parse(body)).toMatchObject({ type: 'issue.created', company_id: mine });
    await waitFor(async () => (await deliveries(webhook)).every(({ status }) => status === 'delivered'));
    expect(await deliveries(webhook)).toHaveLength(3);
  });

  it('whose receiver fails or hangs is tried again, what follows waits behind it, and then all arrive in order', async () => {
    const mine = await company();
    const webhook = await listen(mine);
    receiver.answer((response) => void response.writeHead(500).end());
    await issue(mine, 'first');
    await issue(mine, 'second');
    const failed = await one(webhook, ({ attempts }) => attempts === 1);
    expect(failed).toMatchObject({ status: 'pending', response_status: 500, error: 'it answered 500' });
    // Accepts the request and never answers.
    receiver.answer(() => undefined);
    await hurry(webhook);
    const hung = await one(webhook, ({ attempts }) => attempts === 2);
    expect(hung).toMatchObject({ status: 'pending', response_status: null, error: 'no answer in 8 s' });
    receiver.answer(ok);
    await hurry(webhook);
    await waitFor(async () => (await deliveries(webhook)).every(({ status }) => status === 'delivered'));
    expect(titles(mine)).toEqual(['first', 'first', 'first', 'second']);
    const [{ headers }, { headers: again }] = receiver.received(mine) as [Received, Received];
    expect(again['x-service-delivery']).toBe(headers['x-service-delivery']);
  });

  it('follows no redirect and reaches no private address but the operator’s', async () => {
    const mine = await company();
    const redirected = await listen(mine);
    receiver.answer((response) => void response.writeHead(307, { location: elsewhere.url }).end());
    await issue(mine, 'moved');
    const answered = await one(redirected, ({ attempts }) => attempts === 1);
    expect(answered).toMatchObject({ response_status: 307, error: 'it answered 307' });
    for (const url of [
      elsewhere.url,
      'http://169.254.169.254/latest',
      'ftp://example.com/',
      'http://a:b@example.com/',
    ]) {
      const refused = await api.send('POST', `/api/companies/${mine}/webhooks`, { url, events: ['*'] });
      expect([url, refused.status]).toEqual([url, 400]);
    }
    // A name does not reveal its address: it is refused when it is resolved.
    const named = await listen(mine, { url: `http://localhost:${elsewhere.port}/` });
    await issue(mine, 'inside');
    const kept = await one(named, ({ attempts }) => attempts === 1);
    expect(kept.error).toBe(
      'request to localhost refused: it resolves to an address that is not allowed, unless the operator lists the host in SERVICE_WEBHOOK_ALLOWED_HOSTS',
    );
    expect(elsewhere.count()).toBe(0);
  });

  it('is redelivered what it lost, and loses nothing when its scheduler is killed in the middle of an attempt', async () => {
    const mine = await company();
    const webhook = await listen(mine);
    await issue(mine, 'before');
    const delivered = await one(webhook, ({ status }) => status === 'delivered');
    await api.call('POST', `/api/webhook-deliveries/${delivered.id}/redeliver`);
    await waitFor(() => titles(mine).length === 2);
    const attempt = Promise.withResolvers<void>();
    receiver.answer(() => attempt.resolve());
    await issue(mine, 'under way');
    await attempt.promise;
    const [killed] = schedulers.splice(0);
    killed!.kill('SIGKILL');
    await killed!.ended;
    // No need to wait until its lease has expired by itself.
    await db.database.pool.query('update webhooks set lease_until = now() where id = $1', [webhook.id]);
    receiver.answer(ok);
    await issue(mine, 'while nobody was there');
    await startScheduler();
    await waitFor(async () => (await deliveries(webhook)).every(({ status }) => status === 'delivered'));
    const got = titles(mine);
    expect(got.filter((title) => title === 'before')).toHaveLength(2);
    // The attempt that was broken off is repeated: more often if the kill came so late that it had been given up.
    expect(got.filter((title) => title === 'under way').length).toBeGreaterThanOrEqual(2);
    expect(got.filter((title, n) => title !== got[n - 1])).toEqual([
      'before',
      'under way',
      'while nobody was there',
    ]);
    await api.call('PATCH', `/api/webhooks/${webhook.id}`, { enabled: false });
    const off = await api.send('POST', `/api/webhook-deliveries/${delivered.id}/redeliver`);
    expect(off.status).toBe(409);
    await issue(mine, 'while it is off');
    await api.call('PATCH', `/api/webhooks/${webhook.id}`, { enabled: true });
    await issue(mine, 'on again');
    await waitFor(() => titles(mine).includes('on again'));
    expect(titles(mine)).not.toContain('while it is off');
  });

  it('that fails for three days is switched off, with an alert to the company’s admins', async () => {
    const mine = await company();
    const webhook = await listen(mine);
    receiver.answer((response) => void response.writeHead(503).end());
    await issue(mine, 'lost');
    await one(webhook, ({ attempts }) => attempts === 1);
    await db.database.pool.query(
      `update webhooks set failing_since = now() - interval '73 hours', next_attempt_at = now() where id = $1`,
      [webhook.id],
    );
    const list = async () => api.call<Webhook[]>('GET', `/api/companies/${mine}/webhooks`);
    const off = await waitFor(async () => (await list()).find(({ enabled }) => !enabled));
    expect(off).toMatchObject({ disabled_reason: 'every delivery failed for three days' });
    expect(await deliveries(webhook)).toMatchObject([{ status: 'failed' }]);
    const alerts = async () =>
      db.database.pool.query(`select data from events where company_id = $1 and type = 'notification'`, [
        mine,
      ]);
    const rows = await waitFor(async () => {
      const found = await alerts();
      return found.rows.length > 0 && found.rows;
    });
    expect(rows).toMatchObject([{ data: { topic: 'webhook', level: 'error', entity_id: webhook.id } }]);
  });
});

describe('the admin who set a webhook up', () => {
  it('is removed: deliveries end, keys are refused and their streams closed, in every process', async () => {
    const [mine, other] = [await company(), await startService({ ...env, SERVICE_ROLE: 'web' })];
    const who = { email: 'eve@example.com', password: 'seven sails at dawn' };
    const user = { ...who, display_name: 'Eve' };
    const { id: user_id } = await api.call<{ id: string }>('POST', '/api/users', user);
    await api.call('POST', `/api/companies/${mine}/members`, { user_id, role: 'admin' });
    const eve = await signIn(web, who);
    const base = `/api/companies/${mine}`;
    const hook = { url: receiver.url, events: ['issue.created'] };
    const webhook = await eve.call<Webhook>('POST', `${base}/webhooks`, hook);
    const key = { role: 'admin', label: 'Backdoor' };
    const { raw_key } = await eve.call<{ raw_key: string }>('POST', `${base}/board-user-keys`, key);
    const headers = { authorization: `Bearer ${raw_key}` };
    const stream = await fetch(`${other.url}/api/live/events`, { headers });
    expect(stream.status).toBe(200);
    let closed = false;
    void stream.text().then(() => (closed = true));
    await issue(mine, 'before');
    await waitFor(() => titles(mine).length === 1);

    expect((await api.send('DELETE', `${base}/members/${user_id}`)).status).toBe(204);
    await waitFor(() => closed);
    await waitFor(async () => (await fetch(`${other.url}${base}/issues`, { headers })).status === 401);
    await issue(mine, 'after');
    const another = await listen(mine);
    await issue(mine, 'last');
    await waitFor(() => titles(mine).includes('last'));
    // If the second issue's event was published late, the new webhook was told of it, too; the admin's never.
    expect(await deliveries(webhook)).toHaveLength(1);
    expect(titles(mine)).toHaveLength(1 + (await deliveries(another)).length);
    expect(another.enabled).toBe(true);
    await other.stop();
  });
});

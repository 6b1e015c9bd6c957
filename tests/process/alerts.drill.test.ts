/**
 * Alerts from outside: troubles with their real causes over two tiers, until each was heard everywhere, and their ends.
 * @in-order the troubles begin, are told once, and end
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import {
  cloneDatabase,
  type FakeMail,
  type FakeModel,
  type FakeTelegram,
  killServices,
  type ServiceProcess,
  startFakeMail,
  startFakeModel,
  startFakeTelegram,
  startService,
  type TestDatabase,
  waitFor,
} from '@acp/testkit';
import { admin, type Api, baseEnv, createTeam, modelEnv, signIn, type Team } from './api.ts';

interface Alert {
  kind: string;
  status: string;
  message: string;
}

const troubles = [
  'backup_late',
  'dead_jobs',
  'disk',
  'provider_outage',
  'scheduler_lost',
  'stuck_runs',
  'webhook_off',
];
const SECRET = 'sixteen letters at least';

/** Stands in for Slack, the operator's webhook and a company's, which refuses everything until it is mended. */
async function startReceiver() {
  const received: { url: string; headers: IncomingHttpHeaders; body: string }[] = [];
  let mended = false;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push({ url: request.url ?? '', headers: request.headers, body });
      response.writeHead(request.url === '/company' && !mended ? 500 : 200).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    at: (url: string) => received.filter((each) => each.url === url),
    mend: () => (mended = true),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

let db: TestDatabase;
let home: string;
let mail: FakeMail;
let model: FakeModel;
let telegram: FakeTelegram & { token: string };
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let env: Record<string, string>;
let web: ServiceProcess;
let scheduler: ServiceProcess;
let api: Api;
let team: Team;
let webhook: { id: string };
let page: string;
let notified = '';
const reading = new AbortController();
const answer = Promise.withResolvers<string>();

const query = async (text: string, values: unknown[] = []) => db.database.pool.query(text, values);
const invoke = async (place: number) =>
  api.call('POST', `/api/agents/${team.agents[place]!.id}/heartbeat/invoke`, {});
const ctl = async (...words: string[]) =>
  promisify(execFile)(
    process.execPath,
    [path.resolve(import.meta.dirname, '../../apps/ctl/src/main.mjs'), ...words],
    { env: { PATH: process.env.PATH, ...env } },
  );
const alerts = async (status: string) =>
  api.call<Alert[]>('GET', `/api/admin/alerts?status=${status}&limit=100`);
const kindsOf = (found: readonly Alert[]) => found.map(({ kind }) => kind).toSorted();
/** What the signed webhook was told, oldest first. */
const told = () =>
  receiver.at('/operator').flatMap(({ body }) => (JSON.parse(body) as { alerts: Alert[] }).alerts);
const toldOf = (status: string) => kindsOf(told().filter((alert) => alert.status === status));

/** All that a person or program outside has received by each way, as plain text. */
const heard = (): Record<string, string> => ({
  mail: mail.received
    .map(({ raw }) =>
      raw
        .replaceAll(/=\r?\n/g, '')
        .replaceAll('\r', '')
        .replaceAll(/(?:=[\dA-F]{2})+/g, decoded),
    )
    .join('\n'),
  slack: receiver
    .at('/slack')
    .map(({ body }) => (JSON.parse(body) as { text: string }).text)
    .join('\n'),
  telegram: telegram.messages.map(({ text }) => text).join('\n'),
});
const decoded = (bytes: string): string => Buffer.from(bytes.replaceAll('=', ''), 'hex').toString('utf8');
const times = (text: string, part: string): number => text.split(part).length - 1;

/** Reads an admin's live stream, as an open page does. */
async function readNotifications(): Promise<void> {
  const stream = await fetch(`${web.url}/api/live/events`, {
    headers: { cookie: api.cookie },
    signal: reading.signal,
  });
  const decoder = new TextDecoder();
  for await (const chunk of stream.body!) notified += decoder.decode(chunk, { stream: true });
}

beforeAll(async () => {
  db = await cloneDatabase('alerts');
  void db.notifier;
  home = await mkdtemp(path.join(tmpdir(), 'acp-alerts-'));
  [mail, model, telegram, receiver] = await Promise.all([
    startFakeMail(),
    startFakeModel(),
    startFakeTelegram(),
    startReceiver(),
  ]);
  const at = `http://127.0.0.1:${receiver.port}`;
  const later = new Date(Date.now() + 180 * 86_400_000);
  env = {
    ...baseEnv,
    ...modelEnv(model.url),
    DATABASE_URL: db.url,
    SERVICE_HOME: home,
    // The next one is half a year away, and the last one is made by hand.
    SERVICE_BACKUP_SCHEDULE: `0 3 1 ${later.getUTCMonth() + 1} *`,
    SERVICE_SMTP_URL: mail.url,
    SERVICE_MAIL_FROM: 'alerts@example.com',
    SERVICE_ALERT_SLACK_URL: `${at}/slack`,
    SERVICE_ALERT_TELEGRAM_TOKEN: telegram.token,
    SERVICE_ALERT_TELEGRAM_CHAT: '-1001',
    SERVICE_ALERT_TELEGRAM_URL: telegram.url,
    SERVICE_ALERT_WEBHOOK_URL: `${at}/operator`,
    SERVICE_ALERT_WEBHOOK_SECRET: SECRET,
    SERVICE_ENCRYPTION_KEY: '7'.repeat(64),
    SERVICE_WEBHOOK_ALLOWED_HOSTS: `127.0.0.1:${receiver.port}`,
  };
  web = await startService({ ...env, SERVICE_ROLE: 'web' });
  api = await signIn(web);
  void readNotifications().catch(() => undefined);
  await ctl('db', 'backup');
  // A job that no attempt can do: its payload is not what its queue is for.
  await query(
    `insert into pgboss.job (name, data, retry_limit) values ('settle-issue', '{"issue_id": 17}', 0)`,
  );
  scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler', SERVICE_READYZ_DISK_PCT: '0' });
  team = await createTeam(api, ['Ada', 'Bob', 'Cleo', 'Slow']);
  webhook = await api.call('POST', `/api/companies/${team.company_id}/webhooks`, {
    url: `${at}/company`,
    events: ['issue.created'],
  });
});
afterAll(async () => {
  reading.abort();
  await killServices();
  receiver.close();
  await Promise.all([model.close(), mail.close(), telegram.close()]);
  await rm(home, { recursive: true, force: true });
});

describe('troubles', () => {
  it('of every kind are found, each with its cause', async () => {
    // A model that has said nothing for two hours.
    model.setScript(async () => answer.promise);
    await invoke(3);
    await waitFor(() => model.count() === 1);
    await query(`update heartbeat_runs set started_at = now() - interval '2 hours' where status = 'running'`);
    await query(`update run_events set created_at = now() - interval '2 hours'`);
    // A provider that refuses everyone.
    model.setScript(() => ({ status: 401, error: { message: 'no such key' } }));
    for (const place of [0, 1, 2]) await invoke(place);
    // A receiver that has refused everything for three days.
    await api.call('POST', `/api/companies/${team.company_id}/issues`, { title: 'Heard by nobody' });
    await waitFor(
      async () => (await query(`select from webhooks where failing_since is not null`)).rowCount === 1,
    );
    await query(
      `update webhooks set failing_since = now() - interval '73 hours', next_attempt_at = now() where id = $1`,
      [webhook.id],
    );
    // A backup made two days ago, and a scheduler that was killed a while ago.
    await query(`update backups set started_at = now() - interval '48 hours'`);
    const killed = await startService({ ...env, SERVICE_ROLE: 'scheduler', SERVICE_READYZ_DISK_PCT: '0' });
    const names = `scheduler like '%:${killed.pid}:%'`;
    await waitFor(async () => (await query(`select from scheduler_processes where ${names}`)).rowCount === 1);
    killed.kill('SIGKILL');
    await killed.ended;
    // Both are older than that, so that none is the other's successor.
    await query(`update scheduler_processes set started_at = now() - interval '1 hour'`);
    await query(`update scheduler_processes set updated_at = now() - interval '2 minutes' where ${names}`);
    const found = await waitFor(
      async () => {
        const firing = kindsOf(await alerts('firing'));
        return troubles.every((kind) => firing.includes(kind)) && firing;
      },
      { timeout_ms: 150_000, what: 'all alerts' },
    );
    expect(found).toEqual(expect.arrayContaining(troubles));
    page = await (await fetch(`${web.url}/admin/alerts`, { headers: { cookie: api.cookie } })).text();
  });

  it('are heard of by mail, in Slack, in Telegram and at a signed webhook, on the page, in its ring and live, once', async () => {
    const looked = async () =>
      String((await query('select looked_at from alert_looks')).rows[0]?.looked_at as unknown);
    // Looked at once more, nothing is told again.
    const before = await looked();
    await waitFor(async () => (await looked()) !== before);
    await waitFor(() => toldOf('firing').length >= troubles.length);
    // A disk's usage may have changed since.
    const found = told().filter(({ status, kind }) => status === 'firing' && troubles.includes(kind));
    for (const { kind, message } of found) {
      await waitFor(() => Object.values(heard()).every((text) => text.includes(message)));
      for (const text of Object.values(heard()))
        expect([message, times(text, `: ${message}\n`)]).toEqual([message, 1]);
      expect(page).toContain(kind === 'disk' ? 'The disk of scheduler' : message);
    }
    expect(mail.received.every(({ to }) => to.join() === admin.email)).toBe(true);
    expect(telegram.complaints).toEqual([]);
    // The disk of the scheduler that was killed may have been looked at before.
    expect([...new Set(kindsOf(found))]).toEqual(troubles);
    for (const { headers, body } of receiver.at('/operator')) {
      const signed = `${String(headers['x-service-timestamp'])}.${body}`;
      expect(headers['x-service-signature']).toBe(createHmac('sha256', SECRET).update(signed).digest('hex'));
    }
    const recent = await api.call<{ topic: string; level: string }[]>('GET', '/api/admin/alerts/recent');
    // Its own slice tells of a webhook.
    const topics = troubles.map((kind) => (kind === 'webhook_off' ? 'webhook' : kind));
    for (const topic of topics) {
      const news = recent.filter((each) => each.topic === topic && each.level !== 'info');
      expect([topic, news.length]).toEqual([topic, found.filter(({ kind }) => kind === topic).length || 1]);
      await waitFor(() => notified.includes(`"topic":"${topic}"`));
    }
  });

  it('that are over are told of as resolved, everywhere', async () => {
    answer.resolve('At last.');
    model.setScript(() => 'Ok.');
    await invoke(0);
    receiver.mend();
    await api.call('PATCH', `/api/webhooks/${webhook.id}`, { enabled: true });
    await ctl('db', 'backup');
    await query(`delete from pgboss.job where state = 'failed'`);
    await waitFor(
      async () => (await query(`select from heartbeat_runs where status = 'running'`)).rowCount === 0,
    );
    await scheduler.stop();
    scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler', SERVICE_READYZ_DISK_PCT: '100' });
    // As if the time had passed after which an alert that is no longer found counts as resolved.
    await waitFor(
      async () => {
        await query(
          `update alerts set last_seen_at = last_seen_at - interval '80 s' where status = 'firing'`,
        );
        return (await alerts('firing')).length === 0;
      },
      { timeout_ms: 150_000, interval_ms: 1000, what: 'the end of all alerts' },
    );
    const over = await alerts('resolved');
    expect(kindsOf(over)).toEqual(expect.arrayContaining(troubles));
    for (const { message } of over)
      await waitFor(() => Object.values(heard()).every((text) => text.includes(`RESOLVED: ${message}`)));
    expect(toldOf('resolved')).toEqual(kindsOf(over));
    const recent = await api.call<{ topic: string; level: string }[]>('GET', '/api/admin/alerts/recent');
    const passed = recent.filter(({ level }) => level === 'info').map(({ topic }) => topic);
    expect(passed.toSorted()).toEqual(kindsOf(over));
  });
});

/**
 * Output to people and operators across two tiers: traces to a collector, alerts and links by mail.
 * @in-order alerts are of the whole instance, and a new password ends the session of the other tests
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve as pathOf } from 'node:path';
import { promisify } from 'node:util';
import { signal, transaction } from '@acp/db';
import { issueLicense, newId } from '@acp/kernel';
import {
  cloneDatabase,
  type FakeMail,
  type FakeModel,
  killServices,
  type ServiceProcess,
  startFakeMail,
  startFakeModel,
  startService,
  type TestDatabase,
  waitFor,
} from '@acp/testkit';
import { admin, type Api, baseEnv, createTeam, modelEnv, signIn } from './api.ts';

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string };
}
interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attribute[];
  role: string;
}
interface Traces {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: { spans: Omit<Span, 'role'>[] }[];
  }[];
}

const valuesOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? Number.NaN)]),
  );

/** Receives the tiers' exports as a collector does. */
async function startCollector() {
  const bodies: { path: string; text: string; key: unknown }[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      bodies.push({ path: request.url ?? '', text, key: request.headers['x-key'] });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    spans: (): Span[] =>
      bodies
        .filter(({ path }) => path === '/v1/traces')
        .flatMap(({ text }) => (JSON.parse(text) as Traces).resourceSpans)
        .flatMap(({ resource, scopeSpans }) => {
          const role = String(valuesOf(resource.attributes)['acp.role']);
          return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, role })));
        }),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const vendor = generateKeyPairSync('ed25519');
const SECRET_TEXT = 'the orchard behind the lighthouse';

let collector: Awaited<ReturnType<typeof startCollector>>;
let db: TestDatabase;
let mail: FakeMail;
let model: FakeModel;
let api: Api;
let web: ServiceProcess;
let scheduler: ServiceProcess;
let env: Record<string, string>;

beforeAll(async () => {
  db = await cloneDatabase('operations');
  [collector, mail, model] = await Promise.all([startCollector(), startFakeMail(), startFakeModel()]);
  await db.database.pool.query(
    `insert into backups (status, trigger, claimed_by, started_at, error)
     values ('failed', 'schedule', 'a process', now(), 'the store is full')`,
  );
  env = {
    ...baseEnv,
    ...modelEnv(model.url),
    DATABASE_URL: db.url,
    LOG_LEVEL: 'debug',
    SERVICE_BACKUP_SCHEDULE: 'off',
    SERVICE_LICENSE_PUBLIC_KEY: vendor.publicKey
      .export({ type: 'spki', format: 'der' })
      .subarray(-32)
      .toString('base64'),
    SERVICE_SMTP_URL: mail.url,
    SERVICE_MAIL_FROM: 'alerts@example.com',
    SERVICE_ENCRYPTION_KEY: '5'.repeat(64),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20key',
  };
  [web, scheduler] = await Promise.all([
    startService({ ...env, SERVICE_ROLE: 'web' }),
    startService({ ...env, SERVICE_ROLE: 'scheduler' }),
  ]);
  api = await signIn(web);
});
afterAll(async () => {
  await killServices();
  collector.close();
  await model.close();
  await mail.close();
});

describe('a trace', () => {
  it('goes from a request over its transaction, job and run to the model, through both tiers, without what was said', async () => {
    const team = await createTeam(api, ['Ada']);
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const issue = await api.call<{ id: string }>('POST', `/api/companies/${team.company_id}/issues`, {
      title: SECRET_TEXT,
    });
    const invoked = await fetch(`${web.url}/api/agents/${team.agents[0]!.id}/heartbeat/invoke`, {
      method: 'POST',
      headers: { cookie: api.cookie, traceparent: `00-${traceId}-b7ad6b7169203331-01` },
    });
    expect(invoked.status).toBe(201);
    expect(issue.id).toBeDefined();
    const spans = await waitFor(() => {
      const found = collector.spans().filter((span) => span.traceId === traceId);
      const ended = ['invoke_agent', 'POST runs.invoke'];
      return ended.every((name) => found.some((span) => span.name === name)) && found;
    });
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const chain: string[] = [];
    for (
      let span = spans.find(({ name }) => name.startsWith('chat '));
      span !== undefined;
      span = byId.get(span.parentSpanId ?? '')
    )
      chain.unshift(`${span.role}: ${span.name}`);
    expect(chain).toEqual([
      'web: POST runs.invoke',
      'web: transaction',
      'scheduler: invoke_agent',
      'scheduler: chat fake-model',
    ]);
    expect(spans.map(({ role, name }) => `${role}: ${name}`)).toContain('scheduler: job execute-run');
    const call = spans.find(({ name }) => name === 'chat fake-model')!;
    expect(valuesOf(call.attributes)).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'fake-model',
      'gen_ai.agent.id': team.agents[0]!.id,
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
    });
    expect(collector.bodies.every(({ key }) => key === 'a key')).toBe(true);
    for (const { text } of collector.bodies) expect(text).not.toContain(SECRET_TEXT);
    // Log lines of both tiers contain it.
    for (const { log } of [web, scheduler]) expect(log.some((line) => line.trace_id === traceId)).toBe(true);
  });
});

describe('an alert', () => {
  it('that a scheduler found is shown by the web tier and has gone to the admin by mail', async () => {
    const alerts = await waitFor(async () => {
      const found = await api.call<{ kind: string; message: string }[]>('GET', '/api/admin/alerts');
      return found.length > 0 && found;
    });
    expect(alerts).toMatchObject([
      { kind: 'backup_failed', message: 'The last backup failed: the store is full' },
    ]);
    const received = await waitFor(() => mail.received[0]);
    expect(received.to).toEqual(['admin@example.com']);
    expect(received.raw).toContain('The last backup failed: the store is full');
  });
});

/** As an operator would, beside the running processes. */
const ctl = async (...words: string[]) =>
  promisify(execFile)(
    process.execPath,
    [pathOf(import.meta.dirname, '../../apps/ctl/src/main.mjs'), ...words],
    { env: { PATH: process.env.PATH, ...env } },
  );

describe('a trial that ends', () => {
  const ends = async (at: string) =>
    transaction(db.database, async (tx) => {
      await tx.execute(
        `update instance_settings set value = value || jsonb_build_object('until', ${at}) where key = 'entitlement'`,
      );
      signal(tx, 'instance', 'entitlement');
    });
  const warned = async (text: string) =>
    waitFor(async () => {
      const found = await api.call<{ kind: string; message: string }[]>('GET', '/api/admin/alerts');
      return found.find(({ kind, message }) => kind === 'license' && message.includes(text));
    });

  it('is told of two weeks before; what runs goes on to its end, nothing else is changed, until a license is installed, by the page or by ctl', async () => {
    void db.notifier;
    const team = await createTeam(api, ['Ada']);
    const own = `/api/companies/${team.company_id}`;
    await ends(`now() + interval '13 days'`);
    await warned('The trial ends in 12 days');
    const said = Promise.withResolvers<string>();
    const before = model.count();
    model.setScript(async () => said.promise);
    const issue = await api.call<{ id: string }>('POST', `${own}/issues`, {
      title: 'Paint',
      assignee_agent_id: team.agents[0]!.id,
    });
    await waitFor(() => model.count() > before);
    await ends('now()');
    const file = async () => api.send('POST', `${own}/issues`, { title: 'More' });
    await waitFor(async () => (await file()).status === 403);
    expect(await (await file()).json()).toEqual({ error: 'instance is read-only: license required' });
    said.resolve('Painted.\n/status done');
    await waitFor(
      async () => (await api.call<{ status: string }>('GET', `/api/issues/${issue.id}`)).status === 'done',
    );
    const invoke = `/api/agents/${team.agents[0]!.id}/heartbeat/invoke`;
    expect((await api.send('POST', invoke, {})).status).toBe(403);
    const license = { id: newId(), holder: 'Acme', expires_at: new Date('2999-01-01') };
    const installed = await fetch(`${web.url}/admin/license`, {
      method: 'POST',
      headers: { cookie: api.cookie },
      body: new URLSearchParams({ license_key: issueLicense(license, vendor.privateKey) }),
      redirect: 'manual',
    });
    expect(installed.headers.get('location')).toBe('/admin/license?done=installed');
    model.setScript(() => 'Ok.');
    await waitFor(async () => (await file()).status === 201);
    expect((await api.send('POST', invoke, {})).status).toBe(201);

    await ends('now()');
    await waitFor(async () => (await file()).status === 403);
    await expect(ctl('license', 'install', '--key', 'forged')).rejects.toMatchObject({ code: 1 });
    expect((await file()).status).toBe(403);
    await ctl('license', 'install', '--key', issueLicense({ ...license, id: newId() }, vendor.privateKey));
    await waitFor(async () => (await file()).status === 201);
    expect((await ctl('license', 'show')).stdout).toContain('licensed to Acme');
  });
});

describe('a forgotten password', () => {
  it('that was asked for at the web tier is set by the link that a scheduler mailed; the former session has ended', async () => {
    const form = (path: string, fields: Record<string, string>) =>
      fetch(`${web.url}${path}`, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });
    expect((await form('/forgot-password', { email: admin.email })).status).toBe(200);
    const link = await waitFor(() =>
      mail.received.map(({ raw }) => /\/reset-password\?token=3D([\w-]+=?\s*[\w-]*)/.exec(raw)).find(Boolean),
    );
    // Quoted-printable: a line may be wrapped within the token.
    const token = link[1]!.replaceAll(/=\r?\n/g, '').slice(0, 43);
    const new_password = 'seven sails at dawn';
    const set = await form('/reset-password', { token, new_password });
    expect([set.status, set.headers.get('location')]).toEqual([303, '/login?done=password']);
    expect((await api.send('GET', '/api/me')).status).toBe(401);
    const login = await form('/login', { email: admin.email, password: new_password });
    expect([login.status, login.headers.get('location')]).toEqual([303, '/companies']);
  });
});

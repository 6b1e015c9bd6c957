import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createProvider, createSecret, createWebhook, mintBoardUserKey, openSession } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import { configReference, describeConfig, loadConfig, Vault } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createMembership,
  createUser,
  databaseWithQueue,
  testDatabase,
  testLogger,
} from '@acp/testkit';
import type { CommandContext } from '../command.ts';
import { findings } from '../doctor/examine.ts';
import { supportBundle } from '../nouns/support-bundle.ts';
import { facts } from './facts.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'acp-support-'));
const before = { ...process.env };

let database: Database;
let url: string;
beforeAll(async () => {
  database = await databaseWithQueue();
  ({ url } = await testDatabase());
});
afterAll(() => {
  process.env = before;
  rmSync(folder, { recursive: true, force: true });
});

const contextOf = (env: Record<string, string>, options = {}): CommandContext => ({
  config: loadConfig(env),
  logger: testLogger(),
  database,
  direct_url: url,
  options,
});
const run = async (context: CommandContext) => supportBundle['']!.run(context);

describe('a support bundle', () => {
  it('holds every fact, and none of the secrets of environment and database', async () => {
    const planted: string[] = [];
    const plant = (text: string) => (planted.push(text), text);
    // Every variable whose value is hidden.
    const hidden = configReference().filter(({ name }) => describeConfig({ [name]: 'x' })[0]?.value === null);
    expect(hidden.length).toBeGreaterThan(20);
    for (const [n, { name }] of hidden.entries()) process.env[name] = plant(`planted-in-environment-${n}`);
    process.env.SERVICE_INVENTED = plant('planted-in-an-unknown-variable');
    process.env.SERVICE_PUBLIC_URL = 'https://shown.example.com';
    await transaction(database, async (tx) => {
      const company = await createCompany(tx, { name: plant('Planted Company') });
      const user = await createUser(tx, { email: plant('planted@example.com') });
      await createMembership(tx, company, user, 'admin');
      const admin = actors.user(user, { [company.id]: 'admin' });
      const vault = new Vault(Buffer.alloc(32, 5));
      await createSecret(
        tx,
        admin,
        company.id,
        { name: 'TOKEN', value: plant('planted-secret-value') },
        vault,
      );
      await createProvider(
        tx,
        admin,
        company.id,
        { name: 'P', adapter_type: 'family_chat_a', api_key: plant('planted-provider-key') },
        vault,
        { egress: 'any' },
      );
      const webhook = await createWebhook(
        tx,
        admin,
        company.id,
        { url: 'https://93.184.216.34/planted-hook-path', events: ['*'] },
        vault,
        { allowed_hosts: [] },
      );
      planted.push(webhook.secret, 'planted-hook-path');
      const key = await mintBoardUserKey(tx, admin, company.id, {
        role: 'admin',
        label: plant('planted-label'),
      });
      planted.push(key.raw_key);
      planted.push((await openSession(tx, admin.user_id)).token);
      const agent = await createAgent(tx, company, { name: plant('Planted Agent') });
      await tx.execute(
        `insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, status, error, error_category, finished_at)
         values ('${company.id}', '${agent.id}', 'manual', 'llm', 'failed', '${plant('planted-run-error')}', 'auth', now())`,
      );
      await tx.execute(
        `insert into alerts (company_id, kind, key, level, message) values ('${company.id}', 'budget', 'x', 'error', '${plant('planted-alert')}')`,
      );
      await tx.execute(
        `insert into outgoing_messages (channel, purpose, recipient, subject, body, error)
         values ('mail', 'invite', 'planted@example.com', '${plant('planted-subject')}', '${plant('planted-body')}', 'refused ${planted[0]}')`,
      );
    });
    const file = path.join(folder, 'bundle.tar.gz');
    const { value } = await run(contextOf({ SERVICE_HOME: folder }, { file }));
    expect(value).toEqual({ file, facts: Object.keys(facts), missing: [] });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = gunzipSync(readFileSync(file)).toString('utf8');
    for (const name of Object.keys(facts)) expect(text).toContain(`support/${name}.json`);
    expect(text).toContain('https://shown.example.com');
    expect(text).toContain('{"name":"SERVICE_SMTP_URL","value":null}');
    expect(text).toContain('"error_category":"auth"');
    expect(planted.filter((secret) => text.includes(secret))).toEqual([]);
  });

  it('is written over nothing that is there', async () => {
    const file = path.join(folder, 'twice.tar.gz');
    await run(contextOf({ SERVICE_HOME: folder }, { file }));
    await expect(run(contextOf({ SERVICE_HOME: folder }, { file }))).rejects.toThrow(
      "can't be written: EEXIST",
    );
    await expect(
      run(contextOf({ SERVICE_HOME: folder }, { file: path.join(folder, 'nowhere', 'x') })),
    ).rejects.toThrow('ENOENT');
  });
});

describe('doctor', () => {
  const verdicts = async (env: Record<string, string>) => {
    const found = await findings(contextOf({ SERVICE_HOME: folder, ...env }));
    return new Map(found.map((finding) => [finding.check, finding]));
  };
  const greeter = async (line: string): Promise<Server> => {
    const server = createServer((socket) => socket.on('error', () => undefined).end(`${line}\r\n`));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return server;
  };

  it('says what keeps the operator from hearing of trouble, and what to do about it', async () => {
    const mute = await greeter('554 no service');
    const { port } = mute.address() as AddressInfo;
    await database.pool.query('delete from alerts');
    await database.pool.query(
      `insert into instance_settings (key, value) values ('entitlement', jsonb_build_object('first_boot', now() - interval '2 hours', 'until', now() + interval '20 days'))`,
    );
    await database.pool.query(
      `insert into alerts (kind, key, level, message) values ('disk', 'one', 'error', 'The disk is full')`,
    );
    const found = await verdicts({
      SERVICE_HOST: '0.0.0.0',
      SERVICE_SMTP_URL: `smtp://127.0.0.1:${port}`,
      SERVICE_MAIL_FROM: 'a@b.example',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    });
    mute.close();
    expect(found.get('backups')).toMatchObject({ ok: false, detail: 'none has been made yet' });
    expect(found.get('alerts')).toMatchObject({ ok: false, detail: 'The disk is full' });
    expect(found.get('alert channels')).toMatchObject({
      ok: true,
      detail: 'mail; the page Alerts sends a test',
    });
    expect(found.get('mail server')).toMatchObject({
      ok: false,
      detail: `smtp://127.0.0.1:${port}: 554 no service`,
    });
    expect(found.get('telemetry')).toMatchObject({
      ok: false,
      detail: expect.stringContaining('http://127.0.0.1:1: the connection failed'),
    });
    const silent = await verdicts({ SERVICE_HOST: '0.0.0.0' });
    expect(silent.get('alert channels')).toMatchObject({
      ok: false,
      mend: expect.stringContaining('SERVICE_SMTP_URL'),
    });
  });

  it('is content where all of it is in order', async () => {
    const mail = await greeter('220 mail.example.com ready');
    await database.pool.query('delete from alerts');
    await database.pool.query(
      `insert into backups (status, trigger, claimed_by, started_at) values ('succeeded', 'operator', 'x', now())`,
    );
    const { port } = mail.address() as AddressInfo;
    const found = await verdicts({
      SERVICE_SMTP_URL: `smtp://127.0.0.1:${port}`,
      SERVICE_MAIL_FROM: 'a@b.example',
    });
    mail.close();
    for (const name of ['backups', 'license', 'alerts', 'alert channels', 'mail server', 'telemetry'])
      expect([name, found.get(name)?.ok]).toEqual([name, true]);
    await database.pool.query(
      `update instance_settings set value = jsonb_build_object('until', now() + interval '5 days') where key = 'entitlement'`,
    );
    expect((await verdicts({})).get('license')).toMatchObject({ ok: false, detail: 'trial, 4 days left' });
  });
});

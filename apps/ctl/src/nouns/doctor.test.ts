import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { reportProcess } from '@acp/core';
import { openDatabase, RESTORE_NOTE, schema } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import {
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  createMembership,
  createUser,
  emptyDatabase,
  type TestDatabase,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Finding } from '../doctor/finding.ts';
import { doctor } from './doctor.ts';

const logger = createLogger({ level: 'error', format: 'json', role: 'test', stream: process.stderr });
const folder = mkdtempSync(join(tmpdir(), 'acp-doctor-'));
const healthy = {
  SERVICE_HOME: join(folder, 'home'),
  SERVICE_ENCRYPTION_KEY: '7'.repeat(64),
  SERVICE_DEFAULT_LLM_PROVIDER: 'family_chat_a',
  SERVICE_DEFAULT_LLM_MODEL: 'some-model',
  SERVICE_DEFAULT_LLM_API_KEY: 'sk-x',
  SERVICE_LOCAL_CLI: 'off',
};

const report = async (db: TestDatabase['database']['db'], errors: number) =>
  reportProcess(db, 'scheduler-1', {
    started_at: new Date(),
    disk_used_pct: null,
    workers: { dispatch: { ticks: 20, errors } },
  });

let whole: TestDatabase;
beforeAll(async () => {
  whole = await cloneDatabase('doctor');
  const { db } = whole.database;
  await createUser(db, { instance_role: 'admin' });
  await report(db, 0);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type On = Pick<TestDatabase, 'database' | 'url'>;

async function examine(env: Record<string, string> = {}, on: On = whole) {
  const config = loadConfig({ ...healthy, ...env });
  const answer = await doctor['']!.run({
    config,
    logger,
    database: on.database,
    direct_url: on.url,
    options: {},
  });
  const findings = answer.value as Finding[];
  const bad = findings.filter(({ ok }) => !ok);
  return { ...answer, findings, bad, names: bad.map(({ check }) => check) };
}

describe('doctor', () => {
  it('finds nothing wrong with an instance that is whole, and leaves nothing behind in its storage', async () => {
    const { bad, failed, text } = await examine();
    expect(bad).toEqual([]);
    expect(failed).toBe(false);
    expect(text).toContain('ok    schedulers: 1 alive');
    expect(text).toMatch(/ok {4}text extraction: file parsers (?:are sandboxed by|cannot read other files)/);
    expect(text).toContain('ok    storage: local storage writes, reads and deletes');
  });

  it.each([
    ['web', 13],
    ['scheduler', 15],
    ['all', 26],
  ])('knows what a process of role %s takes from PostgreSQL', async (role, most) => {
    const { text } = await examine({ SERVICE_ROLE: role, SERVICE_DATABASE_POOL_SIZE: '10' });
    expect(text).toContain(`each process takes at most ${most}`);
  });

  it('names each thing that is wrong, with its mend', async () => {
    const { text, names, failed } = await examine({
      SERVICE_HSOT: '0.0.0.0',
      SERVICE_HOST: '0.0.0.0',
      RATE_LIMIT_RPM: '0',
      SERVICE_ENCRYPTION_KEY: '',
      SERVICE_DEFAULT_LLM_PROVIDER: '',
      SERVICE_DATABASE_POOL_SIZE: '1000',
      SERVICE_PLUGIN_SANDBOX: 'disabled',
    });
    expect(failed).toBe(true);
    expect(names).toEqual([
      'environment',
      'model endpoint',
      'plugin binaries',
      'public URL',
      'rate limit',
      'connections',
      'encryption key',
      'alert channels',
    ]);
    expect(text).toContain('FAIL  environment: unknown: SERVICE_HSOT\n      mend: correct the spelling');
    expect(text).toContain('mend: raise max_connections, lower SERVICE_DATABASE_POOL_SIZE, or use a pooler');
    expect(text).toContain(
      'plugin sandbox: plugins are bare processes with the scheduler’s rights: SERVICE_PLUGIN_SANDBOX=disabled',
    );
    expect(text).toMatch(
      /encryption key: no secret can be stored\n {6}mend: run `npm run ctl -- secrets make-key`, or set SERVICE_ENCRYPTION_KEY/,
    );
  });

  it('says what shuts local CLIs in, or what to install for it', async () => {
    const { PATH } = process.env;
    process.env.PATH = folder;
    try {
      const { text, names } = await examine({ SERVICE_LOCAL_CLI: 'sandboxed' });
      expect(names).toEqual(['local CLIs', 'git']);
      expect(text).toContain('not installed here: git, ssh, flock');
      expect(text).toContain('bubblewrap (bwrap) is not installed');
      expect(text).toContain('apt-get install bubblewrap');
      expect((await examine({ SERVICE_LOCAL_CLI: 'host' })).names).toEqual(['git']);
      const bare = await examine({ SERVICE_LOCAL_CLI: 'off' });
      expect(bare.text).toContain(
        'ok    plugin sandbox: plugins are bare processes with the scheduler’s rights: docker is not installed; bubblewrap',
      );
      const required = { SERVICE_LOCAL_CLI: 'off', SERVICE_PLUGIN_SANDBOX: 'required' };
      const refused = await examine(required);
      expect(refused.names).toEqual(['plugin sandbox']);
      expect(refused.text).toContain('plugins can’t be sandboxed: docker is not installed');
    } finally {
      process.env.PATH = PATH;
    }
  });

  it('names MCP programs that are not installed', async () => {
    const offered = { here: { command: [process.execPath] }, gone: { command: ['/nowhere/server'] } };
    const { names, text } = await examine({ SERVICE_MCP_COMMANDS: JSON.stringify(offered) });
    expect(names).toEqual(['MCP programs']);
    expect(text).toContain('MCP programs: not installed here: gone');
  });

  it('asks who stands in front, where TLS ends elsewhere', async () => {
    const behind = { SERVICE_PUBLIC_URL: 'https://agents.example' };
    expect((await examine(behind)).names).toEqual(['proxies']);
    const told = await examine({ ...behind, SERVICE_TRUSTED_PROXIES: '10.0.0.9' });
    expect(told.bad).toEqual([]);
    expect(told.text).toContain('ok    proxies: 10.0.0.9/32');
  });

  it('says once that the schema is missing, and checks nothing that stands on it', async () => {
    const empty = await emptyDatabase('doctor_empty');
    const { bad } = await examine({}, empty);
    expect(bad.map(({ check, detail, mend }) => [check, detail, mend])).toEqual([
      [
        'schema',
        expect.stringMatching(/^0 of \d+ migrations applied, 0 unknown$/),
        'run `npm run ctl -- db migrate`, or start the service',
      ],
      ...[
        'sign-in',
        'encryption key',
        'schedulers',
        'storage',
        'backups',
        'license',
        'channels',
        'alerts',
        'keys of people who left',
        'checkouts of agents that are gone',
      ].map((check) => [check, 'not checked', 'mend schema first']),
    ]);
  });

  it('says that a restore was broken off', async () => {
    const half = await emptyDatabase('doctor_half');
    const [schema_name = ''] = RESTORE_NOTE.split('.');
    await half.database.pool.query(
      `create schema ${schema_name}; create table ${RESTORE_NOTE} (backup_id text)`,
    );
    expect((await examine({}, half)).bad[0]).toMatchObject({
      check: 'schema',
      detail: 'the restore of a backup has not ended',
    });
  });

  it('says once that no database answers', async () => {
    const url = 'postgres://nobody@127.0.0.1:1/none';
    const database = openDatabase({ url, max: 1, application_name: 'doctor', connect_timeout_ms: 500 });
    const { bad } = await examine({}, { database, url });
    await database.close();
    expect(bad[0]).toMatchObject({ check: 'database', mend: 'start PostgreSQL, or correct DATABASE_URL' });
    expect(new Set(bad.slice(1).map(({ detail }) => detail))).toEqual(new Set(['not checked']));
  });

  it('tells a direct address of another database, and backups that have no place to go', async () => {
    const other = await emptyDatabase('doctor_other');
    const file = join(folder, 'no-folder');
    writeFileSync(file, '');
    const { bad } = await examine({ SERVICE_BACKUP_FOLDER: file }, { ...whole, url: other.url });
    expect(bad).toMatchObject([
      { check: 'notifications', mend: expect.stringContaining('at the same database as DATABASE_URL') },
      { check: 'backup store', detail: expect.stringContaining('storage unavailable: E') },
    ]);
    const s3 = {
      SERVICE_BACKUP_STORE: 's3',
      SERVICE_S3_BUCKET: 'files',
      SERVICE_S3_ENDPOINT: 'http://127.0.0.1:1',
      SERVICE_S3_ACCESS_KEY_ID: 'a',
      SERVICE_S3_SECRET_ACCESS_KEY: 'b',
    };
    expect((await examine(s3)).names).toEqual(['backup store']);
  });

  it('tells a home that is no folder', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const { bad } = await examine({ SERVICE_HOME: file });
    expect(bad.map(({ check, mend }) => [check, mend])).toEqual([
      ['home', 'make SERVICE_HOME a folder that the service can write to'],
      ['storage', 'mend home first'],
      ['backup store', 'mend home first'],
    ]);
  });

  it('tells of channels that fail, whose they are and why, and that nobody has heard from a vendor', async () => {
    const company = await createCompany(whole.database.db, { slug: 'harbour' });
    const channel = { company_id: company.id, kind: 'telegram', bot_token: '' };
    await whole.database.db.insert(schema.channels).values([
      { ...channel, name: 'crew', status: 'refused', last_error: 'it answered 401: Unauthorized' },
      { ...channel, name: 'guests', status: 'connected', last_seen_at: new Date() },
    ]);
    const told = await examine();
    expect(told.names).not.toContain('channels');
    expect(told.text).toContain(
      'telegram: 1 connected, 0 failing, 1 refused; harbour/crew: it answered 401: Unauthorized',
    );
    await whole.database.pool
      .query(`update channels set last_seen_at = now() - interval '2 minutes', updated_at = last_seen_at
      where name = 'guests'`);
    await whole.database.pool.query(`update channels set updated_at = now() - interval '2 minutes'`);
    const silent = await examine();
    expect(silent.bad.find(({ check }) => check === 'channels')?.mend).toContain('a scheduler has to run');
    await whole.database.db.delete(schema.channels);
  });

  it('names keys of people who had left before keys ended with that, and checkouts of agents that are gone', async () => {
    const old = await cloneDatabase('doctor_leftovers');
    const { db } = old.database;
    const company = await createCompany(db, { slug: 'acme' });
    const agent = await createAgent(db, company, { name: 'Ada' });
    const [left, stays] = [await createUser(db), await createUser(db)];
    await createMembership(db, company, stays, 'member');
    for (const user of [left, stays])
      await db.insert(schema.agent_api_keys).values({
        company_id: company.id,
        agent_id: agent.id,
        key_hash: user.id,
        key_prefix: 'sk_12345',
        label: user === left ? 'laptop' : 'office',
        created_by_user_id: user.id,
      });
    const issue = await createIssue(db, company);
    const at = { checked_out_by_agent_id: agent.id, checked_out_at: new Date() };
    await db.update(schema.issues).set(at).where(eq(schema.issues.id, issue.id));
    const of = async () => (await examine({}, old)).bad.map(({ check, detail }) => [check, detail]);
    const keys = ['keys of people who left', 'acme: agent key Ada – laptop'];
    expect(await of()).toEqual(expect.arrayContaining([keys]));
    expect(await of()).not.toEqual(
      expect.arrayContaining([expect.arrayContaining(['checkouts of agents that are gone'])]),
    );
    await db.update(schema.agents).set({ status: 'terminated' });
    expect(await of()).toEqual(
      expect.arrayContaining([
        keys,
        ['checkouts of agents that are gone', `acme: ${issue.identifier} by Ada`],
      ]),
    );
  });

  it('misses schedulers and admins, and hears of workers that only fail', async () => {
    const lonely = await cloneDatabase('doctor_lonely');
    expect((await examine({}, lonely)).names).toEqual(['sign-in', 'schedulers']);
    // One that has just started: its workers have not done anything yet.
    await reportProcess(lonely.database.db, 'scheduler-1', {
      started_at: new Date(),
      disk_used_pct: null,
      workers: {},
    });
    expect((await examine({}, lonely)).names).toEqual(['sign-in']);
    await report(lonely.database.db, 19);
    const { bad } = await examine({}, lonely);
    expect(bad.at(-1)).toMatchObject({ check: 'schedulers', detail: '1 alive; failing: dispatch' });
    await lonely.database.db.delete(schema.scheduler_ticks);
  });
});

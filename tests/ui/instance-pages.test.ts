/** Pages of the instance: the fleet and its actions, the backups, alerts. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { hashPassword, listBackups, recordSecurityEvents } from '@acp/core';
import { type Database, schema } from '@acp/db';
import { newId } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import request from 'supertest';
import { type Cast, createCast, type Person } from '../http/cast.ts';
import { pageForms } from '../http/page-forms.ts';
import { Browser, startPages } from '../http/pages.ts';

let app: Express;
let database: Database;
let cast: Cast;

beforeAll(async () => {
  ({ app, database } = await startPages({ SERVICE_REQUIRE_WORKER_APPROVAL: 'true' }));
  cast = await createCast(database);
  // Tasks left in the queue by earlier test files have no payload.
  await database.pool.query('delete from remote_tasks');
});

const idOf = (text: string, name: string): string =>
  new RegExp(`${name}</span\\s*>.*?/admin/workers/([0-9a-f-]{36})/`, 's').exec(text)![1]!;

describe('health', () => {
  const health = async () => (await Browser.of(app, cast.instance_admin).get('/admin/health')).text;

  it('says that nothing runs, then that all is well, then what is broken and what to do', async () => {
    await database.pool.query('delete from alerts');
    await database.pool.query('delete from scheduler_processes');
    expect(await health()).toContain('<h2>Nothing is running</h2>');
    await database.pool.query(
      `insert into scheduler_processes (scheduler, started_at, updated_at, disk_used_pct)
       values ('here-1', now(), now(), 41.2), ('there-2', now(), now() - interval '5 minutes', null)`,
    );
    const well = await health();
    expect(well).toContain('<h2>All is well</h2>');
    expect(well).toMatch(/here-1.*data-status="running".*41 %.*there-2.*data-status="silent".*unknown/s);
    await database.pool.query(
      `insert into alerts (kind, key, level, message) values ('dead_jobs', 'runs', 'error', '3 jobs of runs failed')`,
    );
    const broken = await health();
    expect(broken).toContain('<h2>Something is broken</h2>');
    expect(broken).toContain('3 jobs of runs failed');
    expect(broken).toContain('the schedulers’ logs');
    await database.pool.query('delete from alerts');
  });

  it('does not call a company’s used up budget broken, and leads to its incident', async () => {
    const incident_id = newId();
    await database.pool.query(
      `insert into scheduler_processes (scheduler, started_at) values ('here-1', now())
       on conflict (scheduler) do update set updated_at = now()`,
    );
    await database.pool.query(
      `insert into alerts (company_id, kind, key, level, message, entity_type, entity_id)
       values ($1, 'budget', 'one', 'error', 'The budget of agent Tim is used up', 'budget_incident', $2)`,
      [cast.company_id, incident_id],
    );
    const text = await health();
    expect(text).toContain('<h2>Working, but something needs attention</h2>');
    for (const page of [
      text,
      (await Browser.of(app, cast.admin).get(`/companies/${cast.company_id}/alerts`)).text,
    ])
      expect(page).toContain(
        `<a href="/budget-incidents/${incident_id}">The budget of agent Tim is used up</a>`,
      );
    await database.pool.query('delete from alerts');
  });
});

describe('a password chosen on a page', () => {
  const PASSWORD = 'seven sails at dawn';
  const set = async (value: string) => {
    const admin = Browser.of(app, cast.instance_admin);
    await admin.post('/admin/settings', { refuse_common_passwords: value });
    const { body } = await admin.api('get', '/api/instance-settings');
    return (body as { refuse_common_passwords: boolean | null }).refuse_common_passwords;
  };
  const pages = (password: string): [Person, string, Record<string, string>][] => [
    [
      cast.instance_admin,
      '/admin/users',
      { display_name: 'Newcomer', email: `${newId()}@example.com`, password },
    ],
    [cast.instance_admin, `/admin/users/${cast.viewer.user_id}/password`, { new_password: password }],
    [cast.member, '/profile/password', { current_password: PASSWORD, new_password: password }],
  ];

  it('is not the account’s own address, whoever chooses it', async () => {
    const { user_id } = cast.member;
    const [own] = await database.db
      .select({ email: schema.users.email })
      .from(schema.users)
      .where(eq(schema.users.id, user_id));
    const new_password = own!.email;
    for (const [who, path, form] of [
      [cast.instance_admin, `/admin/users/${user_id}/password`, { new_password }],
      [cast.member, '/profile/password', { current_password: PASSWORD, new_password }],
    ] as const) {
      const { status, text } = await Browser.of(app, who).post(path, form);
      expect([path, status]).toEqual([path, 400]);
      expect(text).toContain('s your name or address: choose another');
    }
  });

  it('is none that is guessed first, unless the instance accepts those; the API asks for its length', async () => {
    for (const [person, path, form] of pages('Password123')) {
      const { status, text } = await Browser.of(app, person).post(path, form);
      expect([path, status]).toEqual([path, 400]);
      expect(text).toContain('s one of the most common ones: choose another');
    }
    const password_hash = await hashPassword(PASSWORD);
    await database.db
      .update(schema.users)
      .set({ password_hash })
      .where(eq(schema.users.id, cast.member.user_id));
    const sent = await Browser.of(app, cast.member).api('post', '/api/me/change-password', {
      current_password: PASSWORD,
      new_password: 'password123',
    });
    expect(sent.status).toBe(200);
    expect(await set('true')).toBe(true);
    const refused = await Browser.of(app, cast.instance_admin).api(
      'post',
      `/api/users/${cast.viewer.user_id}/reset-password`,
      { new_password: 'password123' },
    );
    expect(refused.status).toBe(400);
    expect(await set('false')).toBe(false);
    for (const [person, path, form] of pages('Password123').slice(0, 2))
      expect([path, (await Browser.of(app, person).post(path, form)).status]).toEqual([path, 303]);
    expect(await set('')).toBeNull();
  });
});

describe('an admin of the instance', () => {
  it('makes a worker, whose key is shown once, and sets its tags', async () => {
    const admin = Browser.of(app, cast.instance_admin);
    const made = await admin.post('/admin/workers', { new: 'on', name: 'Maker', tags: 'gpu, linux,' });
    expect(made.status).toBe(200);
    const key = /<code>(sk_[0-9a-f]{64})<\/code>/.exec(made.text)![1]!;
    const list = await admin.get('/admin/workers');
    expect(list.text).not.toContain(key);
    expect(list.text).toContain('<span class="label">gpu</span>');
    const path = `/admin/workers/${idOf(list.text, 'Maker')}`;
    const saved = await admin.post(path, { name: 'Maker', tags: 'cpu' });
    expect((await admin.get(saved.headers.location!)).text).toContain('<span class="label">cpu</span>');
    const claim = await request(app).post('/api/workers/tasks/claim').set('Authorization', `Bearer ${key}`);
    expect(claim.status).toBe(204);
  });

  it('approves, drains, disables and deletes a worker that has registered', async () => {
    const registered = await request(app).post('/api/workers/register').send({ name: 'Newcomer', tags: [] });
    const { api_key } = registered.body as { api_key: string };
    const claim = async () =>
      (await request(app).post('/api/workers/tasks/claim').set('Authorization', `Bearer ${api_key}`)).status;
    const admin = Browser.of(app, cast.instance_admin);
    const waiting = await admin.get('/admin/workers?status=pending_approval');
    const path = `/admin/workers/${idOf(waiting.text, 'Newcomer')}`;
    expect(await claim()).toBe(403);
    const step = async (verb: string, said: string) => {
      const answer = await admin.post(`${path}/${verb}`);
      expect([verb, answer.status]).toEqual([verb, 303]);
      expect((await admin.get(answer.headers.location!)).text).toContain(said);
    };
    await step('approve', 'The worker has been approved.');
    expect(await claim()).toBe(204);
    await step('drain', 'gets no new ones');
    await step('undrain', 'gets tasks again');
    await step('disable', 'no longer works');
    expect(await claim()).toBe(403);
    await step('enable', 'has been enabled');
    expect((await admin.post(`${path}/approve`)).status).toBe(409);
    await step('delete', 'The worker and its key have been deleted.');
    expect(await claim()).toBe(401);
  });

  it('lists the workers that are offline alone, as many as the fleet counts', async () => {
    const admin = Browser.of(app, cast.instance_admin);
    await database.db.delete(schema.workers);
    const about = (name: string, status = 'approved') => ({
      name,
      status,
      key_hash: newId(),
      key_prefix: name,
    });
    await database.db
      .insert(schema.workers)
      .values([
        { ...about('Present'), last_seen_at: new Date() },
        { ...about('Absent'), last_seen_at: new Date(Date.now() - 3_600_000) },
        about('Never seen'),
        about('Switched off', 'disabled'),
      ]);
    const { text } = await admin.get('/admin/workers');
    const link = '/admin/workers?status=offline';
    const written = link.replace('=', '&#61;');
    expect(text).toContain(`<a href="${written}">2 offline</a>`);
    const page = await admin.get(link);
    expect(page.text).toMatch(/aria-current="page"\s*>offline<\/a>/);
    const [, source] = /data-live="workers" data-source="([^"]+)"/.exec(page.text)!;
    for (const { text: shown } of [page, await admin.get(source!.replaceAll('&#61;', '='))])
      expect(
        ['Present', 'Absent', 'Never seen', 'Switched off'].filter((name) => shown.includes(name)),
      ).toEqual(['Absent', 'Never seen']);
    const form = pageForms(page.text).find(({ action }) => action.endsWith('/disable'))!;
    const { headers } = await admin.post(form.action, form.values);
    expect(headers.location).toBe(`${link}&done=disabled`);
  });

  it('saves a worker that somebody deletes meanwhile: 404 says so, and what was typed is kept', async () => {
    const admin = Browser.of(app, cast.instance_admin);
    await admin.post('/admin/workers', { new: 'on', name: 'Leaver', tags: '' });
    const { text } = await admin.get('/admin/workers');
    const path = `/admin/workers/${idOf(text, 'Leaver')}`;
    const { values } = pageForms(text).find(({ action }) => action === path)!;
    await admin.post(`${path}/delete`);
    const saved = await admin.post(path, { ...values, name: 'Renamed' });
    expect(saved.status).toBe(404);
    expect(saved.text).toContain('The worker has been deleted.');
    expect(saved.text).toContain('Renamed');
    expect(saved.text).not.toContain('Somebody else has changed this');
  });

  it('sees the part that renews itself by itself, and is told beside the field of a name that is none', async () => {
    const admin = Browser.of(app, cast.instance_admin);
    const page = await admin.get('/admin/workers');
    const source = /data-live="workers" data-source="([^"]+)"/.exec(page.text)![1]!;
    const part = await admin.get(source);
    expect(part.text).toContain('in progress');
    expect(part.text).not.toContain('<html');
    expect(page.text).toMatch(/<body data-company="instance" data-cursor="\d+"/);
    const refused = await admin.post('/admin/workers', { new: 'on', name: ' ', tags: '' });
    expect([refused.status, refused.text.includes('id="e-name"')]).toEqual([400, true]);
  });
});

it('anybody else sees nothing of the fleet', async () => {
  const admin = Browser.of(app, cast.admin);
  expect((await admin.get('/admin/workers')).status).toBe(403);
  expect((await admin.post('/admin/workers', { new: 'on', name: 'Mine', tags: '' })).status).toBe(403);
});

it('the security log is in the reader’s language, except for what people have named', async () => {
  const subject = newId();
  const entry = { kind: 'sign_in.succeeded', subject } as const;
  await recordSecurityEvents(database.db, [
    { ...entry, details: { method: 'password' } },
    { ...entry, details: { reason: 'this account is deactivated', provider: 'oidc' } },
    { ...entry, details: { factor: 'recovery codes', by: 'password' } },
    { ...entry, details: { sessions: 'all others', kind: 'agent_key' } },
  ]);
  const admin = Browser.of(app, cast.instance_admin);
  const { text } = await admin.get('/admin/security', { 'Accept-Language': 'de' });
  for (const shown of [
    'Methode: Passwort',
    'Grund: dieses Konto ist deaktiviert, Anbieter: oidc',
    'von: password, Faktor: Wiederherstellungscodes',
    'Art: Schlüssel eines Agenten, Sitzungen: alle anderen',
  ])
    expect(text).toContain(shown);
});

it('the trash says which agent or key deleted what no user did', async () => {
  const made = await request(app)
    .post(`/api/companies/${cast.company_id}/notes`)
    .set(cast.agent.headers)
    .send({ title: `Thrown ${newId()}`, body_markdown: 'away' })
    .expect(201);
  await request(app).delete(`/api/notes/${made.body.id}`).set(cast.agent.headers).expect(204);
  const { rows } = await database.pool.query<{ name: string }>('select name from agents where id = $1', [
    cast.agent_id,
  ]);
  const { text } = await Browser.of(app, cast.instance_admin).get('/admin/trash?type=note');
  expect(text).toContain(`data-label="By"><div>${rows[0]!.name}</div>`);
  expect(text).not.toContain('an agent or a key');
});

it('what is done to a row of a filtered list leads back to that list', async () => {
  const admin = Browser.of(app, cast.instance_admin);
  for (let n = 0; n < 2; n += 1)
    await request(app)
      .post('/api/workers/register')
      .send({ name: `Candidate ${n}`, tags: [] })
      .expect(201);
  const made = await request(app)
    .post(`/api/companies/${cast.company_id}/notes`)
    .set(cast.agent.headers)
    .send({ title: 'Candidate for purging', body_markdown: 'away' });
  await request(app).delete(`/api/notes/${made.body.id}`).set(cast.agent.headers).expect(204);
  for (const [list, verb, done] of [
    ['/admin/workers?status=pending_approval&q=Candidate', 'approve', 'approved'],
    ['/admin/trash?type=note&q=Candidate', 'purge', 'purged'],
  ] as const) {
    const form = pageForms((await admin.get(list)).text).find(({ action }) => action.endsWith(`/${verb}`))!;
    const { headers } = await admin.post(form.action, form.values);
    expect(headers.location).toBe(`${list}&done=${done}`);
  }
});

it('the settings say what applies while a field is empty, and where that comes from', async () => {
  const { text } = await Browser.of(app, cast.instance_admin).get('/admin/settings');
  const hintOf = (name: string): string | undefined => new RegExp(`id="h-${name}">([^<]*)<`).exec(text)?.[1];
  expect(hintOf('run_retention_days')).toBe('Empty: 90 (SERVICE_RUN_RETENTION_DAYS)');
  expect(hintOf('backup_schedule')).toBe('Cron, in UTC; empty: 0 3 * * * (SERVICE_BACKUP_SCHEDULE)');
  expect(hintOf('trash_retention_days')).toBe('Empty: 30');
  expect(hintOf('activity_retention_days')).toBe('Empty: forever');
  expect(text).toContain('by default: calls of a model (llm)');
});

it('an admin of the instance sees its backups: how one goes, what one lacks, and why another failed', async () => {
  const admin = Browser.of(app, cast.instance_admin);
  expect((await admin.get('/admin/backups')).text).toContain('No backups yet');
  await database.pool
    .query(`insert into backups (status, trigger, phase, file, bytes, error, claimed_by, started_at) values
    ('succeeded', 'schedule', null, 'one.backup', 123456, 'rows name files that the store does not have', 'test', now() - interval '3 hours'),
    ('failed', 'operator', null, null, 0, 'the store <is> full', 'test', now() - interval '2 hours'),
    ('running', 'schedule', 'storage', null, 99, null, 'test', now())`);
  const { text } = await admin.get('/admin/backups');
  for (const said of [
    '3 h ago',
    'one.backup',
    'rows name files that the store does not have',
    'title="123,456 B">123.5 kB<',
    'the store &#60;is&#62; full',
    'storage',
  ])
    expect(text).toContain(said);
  // That which failed had no size yet.
  expect(text).not.toContain('>0 B<');
  expect(text).toContain('<div>–</div>');
  // Another one would be refused while one is being made.
  expect(text).not.toContain('Back up now');
  await database.pool.query('delete from backups');
});

it('an instance whose backups are switched off says so, and announces none', async () => {
  const admin = Browser.of(app, cast.instance_admin);
  const schedule = { backup_schedule: 'off' };
  expect((await admin.api('patch', '/api/instance-settings', schedule)).status).toBe(200);
  const { text } = await admin.get('/admin/backups');
  expect(text).toContain('None are made by themselves, since their schedule is <code>off</code>');
  expect(text).toContain('The first one is made once somebody asks for it.');
  expect(text).not.toMatch(/on a cron schedule|within a minute/);
  await admin.api('patch', '/api/instance-settings', { backup_schedule: null });
  expect((await admin.get('/admin/backups')).text).toContain('They are made on a cron schedule');
});

it('an admin of the instance requests a backup, once until it is made', async () => {
  const admin = Browser.of(app, cast.instance_admin);
  expect((await admin.get('/admin/backups')).text).toContain('Back up now');
  const sent = await admin.post('/admin/backups', {});
  expect(sent.headers.location).toBe('/admin/backups');
  expect(await listBackups(database.db)).toMatchObject([{ status: 'queued', trigger: 'operator' }]);
  const part = await admin.get('/admin/backups/part/list');
  expect(part.text).toContain('data-awaits');
  expect(part.text).not.toContain('Back up now');
  // All that it says changes together.
  const soon = 'A scheduler will begin the next within half a minute.';
  expect(part.text).toContain(soon);
  const again = await admin.post('/admin/backups', {});
  expect(again.status).toBe(409);
  expect(again.text).toContain('a backup is already requested');
  await database.pool.query(`update backups set status = 'succeeded', finished_at = now()`);
  const made = await admin.get('/admin/backups');
  const list = (await admin.get('/admin/backups/part/list')).text;
  expect(list).toContain('The last restorable backup began');
  expect([made.text.split('The last restorable').length, list.includes(soon)]).toEqual([2, false]);
  await database.pool.query('delete from backups');
});

describe('alerts', () => {
  const alert = async (company_id: string | null, message: string) => {
    const { rows } = await database.pool.query<{ id: string }>(
      `insert into alerts (company_id, kind, key, level, message) values ($1, 'stuck_runs', $2, 'error', $2) returning id`,
      [company_id, message],
    );
    return rows[0]!.id;
  };

  it('are seen by an admin of the instance, who sees to them, mutes them, and is told whether word gets out', async () => {
    const own = await alert(null, 'The <disk> is full');
    await alert(cast.company_id, 'Runs are stuck');
    const admin = Browser.of(app, cast.instance_admin);
    const { text } = await admin.get('/admin/alerts');
    for (const said of ['The &#60;disk&#62; is full', 'Runs are stuck', 'not yet', 'SERVICE_SMTP_URL'])
      expect(text).toContain(said);
    const seen = await admin.post(`/admin/alerts/${own}/acknowledge`);
    expect((await admin.get(seen.headers.location!)).text).toContain('no more reminders');
    const muted = await admin.post(`/admin/alerts/${own}/mute`, { hours: '8' });
    expect((await admin.get(muted.headers.location!)).text).toContain('muted, ');
    expect((await admin.post('/admin/alerts/test')).text).toContain('no channel is set up');
  });

  it('of a company are its admins’: nobody else’s, and no other company’s', async () => {
    const own = await alert(cast.company_id, 'Its runs are stuck');
    const foreign = await alert(cast.other_company_id, 'Theirs are stuck');
    const ofInstance = await alert(null, 'All is stuck');
    const path = `/companies/${cast.company_id}/alerts`;
    const admin = Browser.of(app, cast.admin);
    const { text } = await admin.get(path);
    expect(text).toContain('Its runs are stuck');
    expect(text).not.toMatch(/Theirs are stuck|All is stuck/);
    const muted = await admin.post(`/alerts/${own}/mute`, { hours: '8' });
    expect(muted.headers.location).toBe(`${path}?done=muted`);
    for (const id of [foreign, ofInstance])
      expect((await admin.post(`/alerts/${id}/acknowledge`)).status).toBe(404);
    expect((await admin.post(`/admin/alerts/${own}/acknowledge`)).status).toBe(403);
    expect((await Browser.of(app, cast.member).get(path)).status).toBe(403);
  });

  it('go out as a test where mail is set up, to the instance’s admins', async () => {
    const { app: mailing } = await startPages({
      SERVICE_SMTP_URL: 'smtp://localhost',
      SERVICE_MAIL_FROM: 'a@example.com',
    });
    const admin = Browser.of(mailing, cast.instance_admin);
    const sent = await admin.post('/admin/alerts/test');
    const { text } = await admin.get(sent.headers.location!);
    expect(text).toContain('A test is on its way');
    // The page asks for the result until there is one.
    const [, part] = /data-source="(\/admin\/alerts\/part\/messages)"/.exec(text)!;
    expect((await admin.get(part!)).text).toMatch(/data-awaits[^]*pending/);
    const { rows } = await database.pool.query(`select channel, status from outgoing_messages`);
    expect(rows).toContainEqual({ channel: 'mail', status: 'pending' });
    await database.pool.query("update outgoing_messages set status = 'failed', error = 'no such host'");
    const { text: over } = await admin.get(part!);
    expect(over).toContain('no such host');
    expect(over).not.toContain('data-awaits');
  });
});

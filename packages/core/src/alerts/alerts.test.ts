/** @in-order alerts are of the whole instance, and each test goes on from those before */
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import {
  actors,
  createAgent,
  createCompany,
  createMembership,
  createRunningRun,
  createUser,
  databaseWithQueue,
} from '@acp/testkit';
import { desc, sql } from 'drizzle-orm';
import { createBudgetPolicy, reportCost } from '../budgets/index.ts';
import { finishRun } from '../index.ts';
import { acknowledgeAlert, findAlert, listAlerts, muteAlert } from './alerts.ts';
import { changesAlerts, checkConditions, updateAlerts } from './check-conditions.ts';
import { queueAlertMessages } from './queue-messages.ts';

const { alerts, outgoing_messages, outbox } = schema;

let database: Database;
const query = async (text: string) => database.pool.query(text);
beforeAll(async () => {
  database = await databaseWithQueue();
});
beforeEach(async () => {
  for (const table of [
    'alerts',
    'alert_looks',
    'outgoing_messages',
    'outbox',
    'scheduler_processes',
    'backups',
    'budget_incidents',
    'webhooks',
  ])
    await query(`delete from ${table}`);
  await query(`delete from heartbeat_runs`);
  await query(`delete from instance_settings where key = 'entitlement'`);
});

const limits = {
  backup_max_age_hours: null,
  backup_schedule: '0 3 * * *',
  disk_pct: 90,
  worker_error_rate_pct: 50,
};
const targets = {
  public_url: 'https://plane.example.com',
  mail: true,
  mail_to: ['ops@example.com'],
  channels: ['slack' as const],
};

/** Runs a check, as if the last one had been long enough ago, and queues its messages. */
const look = async (changed: Partial<typeof limits> & { backup_max_age_hours?: number | null } = {}) => {
  await query(`update alert_looks set looked_at = now() - interval '1 minute'`);
  const found = (await checkConditions(database.db, 'here', { ...limits, ...changed }))!;
  return transaction(database, async (tx) => {
    const changes = await updateAlerts(tx, found);
    await queueAlertMessages(tx, changes, targets);
    return changes;
  });
};
/** Moves back the time at which alerts were last seen. */
const age = async (seconds: number) =>
  query(`update alerts set last_seen_at = last_seen_at - interval '${seconds} s'`);
const fullDisk = async (pct: number, name = 'one') =>
  query(`insert into scheduler_processes (scheduler, started_at, disk_used_pct) values ('${name}', now(), ${pct})
    on conflict (scheduler) do update set disk_used_pct = ${pct}, updated_at = now()`);
const firing = async () => (await listAlerts(database.db, null, { status: 'firing' })).items;
const sent = async () =>
  database.db.select().from(outgoing_messages).orderBy(desc(outgoing_messages.created_at));

describe('an alert', () => {
  it('fires once for as long as it is found, is told once, and told again when it has passed', async () => {
    await fullDisk(95.4);
    expect((await look()).firing).toMatchObject([{ kind: 'disk', key: 'one' }]);
    expect((await look()).firing).toEqual([]);
    expect(await firing()).toMatchObject([
      { kind: 'disk', level: 'error', message: 'The disk of scheduler one is 95 % full', company_id: null },
    ]);
    await fullDisk(40);
    // One check without it is not enough: a flickering condition is a single alert.
    expect((await look()).resolved).toEqual([]);
    await age(80);
    expect((await look()).resolved).toMatchObject([{ kind: 'disk', status: 'resolved' }]);
    expect(await firing()).toEqual([]);
    expect((await sent()).map(({ channel, recipient, subject }) => [channel, recipient, subject])).toEqual(
      expect.arrayContaining([
        ['slack', '', '[plane.example.com] The disk of scheduler one is 95 % full'],
        ['mail', 'ops@example.com', '[plane.example.com] The disk of scheduler one is 95 % full'],
        ['mail', 'ops@example.com', '[plane.example.com] Resolved: The disk of scheduler one is 95 % full'],
      ]),
    );
    expect(await sent()).toHaveLength(4);
    const notified = await database.db.select().from(outbox).orderBy(outbox.id);
    expect(notified.map(({ data }) => data)).toMatchObject([
      { topic: 'disk', level: 'error' },
      { topic: 'disk', level: 'info', message: expect.stringMatching(/^It has passed/) },
    ]);
  });

  it('is looked for by one of two schedulers', async () => {
    await fullDisk(99);
    const both = await Promise.all(['a', 'b'].map(async (by) => checkConditions(database.db, by, limits)));
    const found = both.filter((each) => each !== undefined);
    expect(found).toMatchObject([{ conditions: [{ kind: 'disk', key: 'one' }] }]);
    // If two looks overlap nonetheless, both found the same.
    const noted = await Promise.all(
      [1, 2].map(async () => transaction(database, async (tx) => updateAlerts(tx, found[0]!))),
    );
    expect(noted.flatMap((each) => each.firing)).toHaveLength(1);
    expect(await firing()).toHaveLength(1);
  });

  it('costs two statements as long as nothing is wrong', async () => {
    const before = database.statements();
    const found = (await checkConditions(database.db, 'here', limits))!;
    expect([found, changesAlerts(found), database.statements() - before]).toEqual([
      { conditions: [], firing: false },
      false,
      2,
    ]);
    await fullDisk(99);
    await look();
    await fullDisk(1);
    await query(`update alert_looks set looked_at = now() - interval '1 minute'`);
    expect(changesAlerts((await checkConditions(database.db, 'here', limits))!)).toBe(true);
  });

  it('that many things set off is one message for each who is told', async () => {
    for (let n = 0; n < 70; n += 1) await fullDisk(99, `machine ${n}`);
    await look();
    expect(await firing()).toHaveLength(50);
    expect((await sent()).map(({ subject }) => subject)).toEqual(
      Array.from({ length: 2 }, () => '[plane.example.com] 50 alerts'),
    );
  });

  /** An alert that is told, then muted, gone, and there again. @returns who muted it */
  async function comeAgainMuted(hours: number) {
    await fullDisk(99);
    await look();
    const [row] = await database.db.select().from(alerts);
    const admin = actors.user(await createUser(database.db));
    await transaction(database, async (tx) => muteAlert(tx, admin, row!, hours));
    await fullDisk(1);
    await age(80);
    await look();
    await fullDisk(99);
    await look();
    return admin;
  }

  it('that is muted sends nothing, nor does the same thing when it comes again; without the mute it does', async () => {
    const admin = await comeAgainMuted(8);
    expect(await sent()).toHaveLength(2);
    const [again] = await firing();
    expect(new Date(again!.muted_until!).getTime()).toBeGreaterThan(Date.now());
    const [open] = await database.db
      .select()
      .from(alerts)
      .where(sql`status = 'firing'`);
    expect(await transaction(database, async (tx) => muteAlert(tx, admin, open!, 0))).toMatchObject({
      muted_until: null,
    });
  });

  it('that came while it was muted, and is still there when that is over, is told then, once', async () => {
    await comeAgainMuted(1);
    expect(await sent()).toHaveLength(2);
    await query(`update alerts set muted_until = now() - interval '1 second' where status = 'firing'`);
    await look();
    await look();
    expect(await sent()).toHaveLength(4);
  });

  it('that came once too often, and then stays, is told within the hour', async () => {
    for (let n = 0; n < 4; n += 1) {
      await fullDisk(99);
      await look();
      if (n < 3) await fullDisk(1);
      if (n < 3) await age(80);
      await look();
    }
    const reported = async () => (await sent()).filter(({ subject }) => !subject.includes('Resolved')).length;
    expect(await reported()).toBe(6);
    await query(`update alerts set opened_at = opened_at - interval '1 hour'`);
    await look();
    await look();
    expect(await reported()).toBe(8);
  });

  it('that comes and goes is told three times an hour at most, and stands on the page', async () => {
    for (let n = 0; n < 5; n += 1) {
      await fullDisk(99);
      await look();
      await fullDisk(1);
      await age(80);
      await look();
    }
    const subjects = (await sent())
      .filter(({ channel }) => channel === 'slack')
      .map(({ subject }) => subject);
    expect(subjects.filter((subject) => !subject.includes('Resolved'))).toHaveLength(3);
    expect(subjects).toHaveLength(6);
    expect((await listAlerts(database.db, null, { status: 'resolved' })).items).toHaveLength(5);
  });

  it('is told again after a day, until somebody sees to it', async () => {
    await fullDisk(99);
    await look();
    const yesterday = async () => query(`update alerts set told_at = now() - interval '25 hours'`);
    await yesterday();
    expect((await look()).firing).toHaveLength(1);
    const [row] = await database.db.select().from(alerts);
    const admin = actors.user(await createUser(database.db));
    const seen = await transaction(database, async (tx) => acknowledgeAlert(tx, admin, row!));
    expect(seen).toMatchObject({ acknowledged_by_user_id: admin.user_id });
    await yesterday();
    expect((await look()).firing).toEqual([]);
  });
});

describe('what is found', () => {
  const kinds = async (changed = {}) => {
    await look(changed);
    return (await firing()).map(({ kind }) => kind).toSorted();
  };

  it('a backup that failed, and one that is too old or missing', async () => {
    const backup = async (status: string, hours: number) =>
      query(`insert into backups (status, trigger, claimed_by, started_at, error)
        values ('${status}', 'schedule', 'x', now() - interval '${hours} hours', 'no room')`);
    expect(await kinds({ backup_max_age_hours: 36 })).toEqual([]);
    await query(`insert into instance_settings (key, value) values ('entitlement',
      jsonb_build_object('first_boot', now() - interval '2 hours', 'until', now() + interval '28 days'))
      on conflict (key) do update set value = excluded.value`);
    expect(await kinds({ backup_max_age_hours: 36 })).toEqual(['backup_late']);
    await backup('succeeded', 40);
    await backup('failed', 1);
    expect(await kinds({ backup_max_age_hours: 36 })).toEqual(['backup_failed', 'backup_late']);
    // The setting decides, as it does for the scheduler that makes them.
    const set = async (schedule: string) =>
      query(`insert into instance_settings (key, value) values ('backup_schedule', '"${schedule}"')
        on conflict (key) do update set value = excluded.value`);
    await set('off');
    await age(80);
    expect(await kinds({ backup_max_age_hours: 36 })).toEqual(['backup_failed']);
    await set('0 4 * * *');
    expect(await kinds({ backup_max_age_hours: 36, backup_schedule: 'off' })).toEqual([
      'backup_failed',
      'backup_late',
    ]);
    await query(`delete from instance_settings where key = 'backup_schedule'`);
    await backup('succeeded', 0);
    await age(80);
    expect(await kinds({ backup_max_age_hours: 36 })).toEqual([]);
  });

  it('a license in its last two weeks, and one that is over', async () => {
    const until = async (days: number) =>
      query(`insert into instance_settings (key, value) values ('entitlement',
        jsonb_build_object('first_boot', now() - interval '9 days', 'until', now() + interval '${days} days'))
        on conflict (key) do update set value = excluded.value`);
    await until(15);
    expect(await kinds()).toEqual([]);
    await until(12.5);
    expect(await kinds()).toEqual(['license']);
    expect((await firing())[0]).toMatchObject({
      level: 'warning',
      message: 'The trial ends in 12 days; the instance is read-only from then on',
    });
    await until(-1);
    await look();
    expect((await firing())[0]).toMatchObject({ level: 'error' });
  });

  it('a scheduler that fell silent, until another came in its place; one that was stopped is not missed', async () => {
    await fullDisk(1, 'lost');
    await query(
      `update scheduler_processes set updated_at = now() - interval '2 minutes', started_at = now() - interval '1 hour'`,
    );
    expect(await kinds()).toEqual(['scheduler_lost']);
    await fullDisk(1, 'another');
    await age(80);
    expect(await kinds()).toEqual([]);
  });

  it('runs that nobody ends, that say nothing, and that wait while nothing runs', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const run = async (columns: string, values: string) =>
      query(`insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, ${columns})
        values ('${company.id}', '${agent.id}', 'manual', 'llm', ${values})`);
    await run('status, created_at', `'queued', now() - interval '20 minutes'`);
    expect(await kinds()).toEqual(['stuck_runs']);
    expect((await firing())[0]!.message).toMatch(/1 wait while nothing runs$/);
    await run('status, lease_expires_at', `'running', now() - interval '5 minutes'`);
    await run(
      'status, started_at, lease_expires_at',
      `'running', now() - interval '2 hours', now() + interval '1 minute'`,
    );
    await look();
    const [alert] = await firing();
    expect(alert).toMatchObject({ company_id: company.id, kind: 'stuck_runs' });
    expect(alert!.message).toMatch(
      /1 lost their scheduler and could not be ended, 1 have not reported for an hour$/,
    );
  });

  it('keys that end within a week, by mail to the company’s admins; not those made for a few days', async () => {
    const company = await createCompany(database.db, { name: 'Keyed' });
    const agent = await createAgent(database.db, company);
    const admin = await createUser(database.db);
    await createMembership(database.db, company, admin, 'admin');
    const key = async (label: string, days_old: number, days_left: number) =>
      query(`insert into board_user_keys (company_id, role, label, key_hash, key_prefix, created_at, expires_at)
        values ('${company.id}', 'member', '${label}', '${label} of ${company.id}', 'sk_12345', now() - interval '${days_old} days',
          now() + interval '${days_left} days')`);
    await key('of today', 0, 3);
    await key('of a month ago', 30, 9);
    expect(await kinds()).toEqual([]);
    await key('of the shop', 30, 6);
    await query(`insert into agent_api_keys (company_id, agent_id, key_hash, key_prefix, created_at, expires_at)
      values ('${company.id}', '${agent.id}', 'of ${agent.id}', 'sk_67890', now() - interval '20 days', now() + interval '2 days')`);
    expect(await kinds()).toEqual(['key_expiring', 'key_expiring']);
    const day = new Date(Date.now() + 6 * 86_400_000).toISOString().slice(0, 10);
    const messages = (await firing()).map(({ message }) => message).join('\n');
    expect(messages).toContain(`Keyed: the key of the shop (sk_12345…) ends on ${day}`);
    expect(messages).toMatch(/Keyed: the key sk_67890 \(sk_67890…\) ends on [\d-]{10}/);
    const mail = (await sent()).find(({ recipient }) => recipient === admin.email);
    expect(mail?.body).toContain(
      `WARNING: Keyed: the key of the shop (sk_12345…) ends on ${day}\n  Mint a new key`,
    );
    // The slice of keys has already notified the company's admins on their pages.
    expect(await database.db.select().from(outbox)).toEqual([]);
    await query(`delete from board_user_keys`);
    await query(`delete from agent_api_keys`);
    await age(80);
    expect(await kinds()).toEqual([]);
  });

  it('a provider that fails all runs; one success ends it', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const run = async (status: string, category: string) =>
      query(`insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, status, error, error_category, finished_at)
        values ('${company.id}', '${agent.id}', 'manual', 'llm', '${status}', 'overloaded', ${category}, now())`);
    await run('failed', `'transient'`);
    await run('failed', `'auth'`);
    // Errors caused by the agent don't count against the provider.
    await run('failed', `'permanent'`);
    expect(await kinds()).toEqual([]);
    await run('failed', `'timeout'`);
    expect(await kinds()).toEqual(['provider_outage']);
    // For the instance's own endpoint, errors of runs are not shown: they belong to a company.
    expect((await firing())[0]).toMatchObject({
      company_id: null,
      message: 'The default model endpoint failed 3 runs in a row',
    });
    await run('succeeded', 'null');
    await age(80);
    expect(await kinds()).toEqual([]);
  });

  it('the provider that was called, whichever its agents have by now, unless it is deleted', async () => {
    const { company } = await createRunningRun(database.db);
    const [provider] = await database.db
      .insert(schema.providers)
      .values({ company_id: company.id, name: 'Own', adapter_type: 'openai' })
      .returning();
    const failure = { category: 'transient', message: 'overloaded' };
    const result = { failure, text: null, usage: null, changed: false, provider_id: provider!.id };
    for (let n = 0; n < 3; n += 1) {
      const { run } = await createRunningRun(database.db);
      await transaction(database, async (tx) => finishRun(tx, run, result));
    }
    expect(await kinds()).toEqual(['provider_outage']);
    const message = `${company.name}: the provider Own failed 3 runs in a row: overloaded`;
    expect((await firing())[0]).toMatchObject({ company_id: company.id, message });
    await query(`delete from providers`);
    await age(80);
    expect(await kinds()).toEqual([]);
  });

  it('a company’s budget also while another company has any number of them', async () => {
    const breach = async (name: string, count: number) => {
      const company = await createCompany(database.db, { name });
      const user = await createUser(database.db);
      await createMembership(database.db, company, user, 'admin');
      await query(`
        with p as (
          insert into budget_policies (company_id, scope_type, scope_id, "window", limit_usd, action)
          select '${company.id}', 'agent', gen_random_uuid(), 'day', 1, 'warn' from generate_series(1, ${count}) returning id
        )
        insert into budget_incidents (company_id, policy_id, kind, window_start, limit_usd, spent_usd)
        select '${company.id}', p.id, 'breach', now(), 1, 2 from p`);
      return user.email;
    };
    const early = await breach('Early', 1);
    await look();
    await breach('Noisy', 60);
    const late = await breach('Late', 1);
    await age(80);
    const { resolved } = await look();
    expect(resolved).toEqual([]);
    const { rows } = await query(`select message from alerts where status = 'firing'`);
    const names = (rows as { message: string }[]).map(({ message }) => message.split(':')[0]);
    expect(names).toEqual(expect.arrayContaining(['Early', 'Late']));
    const told = (await sent()).map(({ recipient }) => recipient);
    expect(told).toEqual(expect.arrayContaining([early, late]));
  });

  it('very many companies’ at once are told to the admins of each', async () => {
    const emails: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      const company = await createCompany(database.db);
      const user = await createUser(database.db);
      await createMembership(database.db, company, user, 'admin');
      emails.push(user.email);
      await query(`insert into webhooks (company_id, url, events, secret_sealed, from_seq, enabled, disabled_reason)
        values ('${company.id}', 'https://example.com', '[]', 'x', 0, false, 'it failed')`);
    }
    await look();
    const told = (await sent()).map(({ recipient }) => recipient);
    expect(emails.filter((email) => !told.includes(email))).toEqual([]);
  });

  it('a breached budget: told to the company’s admins in their language, and not to those of another', async () => {
    const company = await createCompany(database.db, { name: 'Spender' });
    const other = await createCompany(database.db);
    const [admin, member, stranger] = await Promise.all([1, 2, 3].map(() => createUser(database.db)));
    await createMembership(database.db, company, admin!, 'admin');
    await createMembership(database.db, company, member!, 'member');
    await createMembership(database.db, other, stranger!, 'admin');
    await query(`update users set preferences = '{"language": "de"}' where id = '${admin!.id}'`);
    const board = actors.board(company, 'admin');
    await transaction(database, async (tx) => {
      await createBudgetPolicy(tx, board, company.id, { scope_type: 'company', window: 'day', limit_usd: 1 });
      await reportCost(tx, board, company.id, { provider: 'x', model: 'y', cost_usd: 2 });
    });
    await query('delete from outbox');
    expect(await kinds()).toEqual(['budget']);
    const mails = (await sent()).filter(({ channel }) => channel === 'mail');
    expect(mails.map(({ recipient }) => recipient).toSorted()).toEqual(
      [admin!.email, 'ops@example.com'].toSorted(),
    );
    const bodyTo = (address: string) => mails.find(({ recipient }) => recipient === address)!.body!;
    expect(bodyTo('ops@example.com')).toMatch(
      /^ERROR: Spender: the company’s budget is used up: \$2\.00 of \$1\.00 a day\n  Raise the limit/,
    );
    expect(bodyTo(admin!.email)).toMatch(
      /^FEHLER: Spender: das Budget der Firma ist aufgebraucht: \$2\.00 von \$1\.00 pro Tag\n(?! *Raise)/,
    );
    expect(bodyTo(admin!.email)).toMatch(
      /\n\nhttps:\/\/plane\.example\.com\/budget-incidents\/[\da-f-]{36}\n/,
    );
    // Its slice has already notified the company's admins.
    expect(await database.db.select().from(outbox)).toEqual([]);
    const [alert] = await firing();
    expect((await listAlerts(database.db, other.id, {})).items).toEqual([]);
    expect(await findAlert(database.db, alert!.id)).toMatchObject({ company_id: company.id });
  });

  it('an agent’s budget, by the agent’s name and with what it has spent by now', async () => {
    const company = await createCompany(database.db, { name: 'Saver' });
    const agent = await createAgent(database.db, company, { name: 'Tim' });
    const board = actors.board(company, 'admin');
    const spend = async (cost_usd: number) =>
      transaction(database, async (tx) =>
        reportCost(tx, board, company.id, { provider: 'x', model: 'y', cost_usd, agent_id: agent.id }),
      );
    await transaction(database, async (tx) =>
      createBudgetPolicy(tx, board, company.id, {
        scope_type: 'agent',
        scope_id: agent.id,
        window: 'month',
        limit_usd: 0.001,
      }),
    );
    await spend(0.0894);
    await look();
    const ours = async () => (await firing()).find(({ company_id }) => company_id === company.id)?.message;
    expect(await ours()).toBe('Saver: the budget of agent Tim is used up: $0.089 of $0.001 a month');
    await spend(2.5);
    await look();
    expect(await ours()).toBe('Saver: the budget of agent Tim is used up: $2.59 of $0.001 a month');
  });
});

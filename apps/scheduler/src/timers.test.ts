/** @in-order the first finds nothing to do, the later ones make work */
import { describe, expect, it } from '@jest/globals';
import { putSetting, readTicks } from '@acp/core';
import { schema } from '@acp/db';
import { loadConfig, newId, Vault } from '@acp/kernel';
import { LocalStorage } from '@acp/storage';
import {
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  databaseWithQueue,
  queuedJobs,
  testLogger,
  testDatabase,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TickCounters } from './tick-counters.ts';
import { workspaceSources } from './workspaces/sources.ts';
import { fireSchedules } from './fire-schedules.ts';
import { LOOK_SEC, LostWork } from './lost-work.ts';
import { timerTable } from './timers.ts';
import type { TimerContext } from './context.ts';

async function contextOf(): Promise<TimerContext> {
  const counters = new TickCounters();
  counters.declare('a worker', 1);
  const { url } = await testDatabase();
  const home = join(tmpdir(), `acp-timers-${newId()}`);
  const shared = {
    config: loadConfig({ SERVICE_HOME: home }),
    logger: testLogger(),
    database: await databaseWithQueue(),
    storage: new LocalStorage(join(home, 'storage')),
    vault: new Vault(null, []),
  };
  return {
    ...shared,
    direct_url: url,
    workspaces: workspaceSources(shared),
    counters,
    webhooks: { kick: () => undefined },
    messages: { kick: () => undefined },
    channels: { kick: () => undefined },
    peers: { kick: () => undefined, refresh: async () => undefined },
    knowledge: { kick: () => undefined, embedQuestion: async () => null },
    plugins: {
      kick: () => undefined,
      leases: () => [],
      runner: () => {
        throw new Error('none runs here');
      },
    },
    mcp_servers: {
      kick: async () => undefined,
      refresh: async () => undefined,
      call: async () => undefined,
      leases: () => [],
    },
    claimed_by: `scheduler ${newId()}`,
    started_at: new Date(),
  };
}

const past = (days: number) => new Date(Date.now() - days * 86_400_000);

const tick = async (context: TimerContext, name: string) =>
  timerTable.find((row) => row.name === name)!.work(context, new AbortController().signal);

describe('the timers', () => {
  it('all work against the database, with nothing to do', async () => {
    const context = await contextOf();
    for (const { name, rest_sec } of timerTable)
      await expect(tick(context, name)).resolves.toBe(rest_sec === undefined ? undefined : Infinity);
    const ticks = await readTicks(context.database.db);
    expect(ticks.find(({ worker }) => worker === 'a worker')).toMatchObject({ ticks: 0, errors: 0 });
  });

  it('send few statements while nothing is due, however many agents there are', async () => {
    const { database } = await cloneDatabase('idle');
    const context = { ...(await contextOf()), database, started_at: past(1) };
    const company = await createCompany(database.db);
    await database.db
      .insert(schema.backups)
      .values({ status: 'succeeded', trigger: 'schedule', claimed_by: 'x', started_at: new Date() });
    const next_heartbeat_at = new Date(Date.now() + 3_600_000);
    for (let count = 0; count < 20; count += 1)
      await createAgent(database.db, company, { heartbeat_enabled: true, next_heartbeat_at });
    const signal = new AbortController().signal;
    const lost = new LostWork({ ...context, counters: new TickCounters() });
    const look = { name: 'lost-work', interval_sec: LOOK_SEC, work: async () => lost.look(signal) };
    // These ask about runs and plugins whose programs or folders they find, and other tests on this machine have some.
    const others = ['stray-processes', 'stray-files', 'stray-plugins'];
    const rows = timerTable.filter(({ name }) => !others.includes(name));
    const perMinute = new Map<string, number>();
    const idleMs = new Map<string, number | void>();
    for (const { name, interval_sec, rest_sec, work } of [...rows, { ...look, rest_sec: undefined }]) {
      const before = database.statements();
      idleMs.set(name, await work(context, signal));
      perMinute.set(name, ((database.statements() - before) * 60) / (rest_sec ?? interval_sec));
    }
    expect(Object.fromEntries(perMinute)).toMatchObject({
      'due-work': 2,
      'lost-work': 6,
      'report-ticks': 6,
      alerts: 6,
      backups: 3,
    });
    // Until the next heartbeat.
    expect(idleMs.get('due-work')).toBeGreaterThan(3_500_000);
    const all = [...perMinute.values()].reduce((sum, count) => sum + count, 0);
    expect(all).toBeLessThanOrEqual(40);
  });

  it('wake an agent whose heartbeat is due, once', async () => {
    const context = await contextOf();
    const tx = context.database.db;
    const agent = await createAgent(tx, await createCompany(tx), {
      heartbeat_enabled: true,
      next_heartbeat_at: new Date(Date.now() - 1000),
    });
    await tick(context, 'due-work');
    await tick(context, 'due-work');
    expect(await queuedJobs(tx, 'dispatch-agent', { agent_id: agent.id })).toHaveLength(1);
  });

  it('do what is due although something else that is due fails, and say so', async () => {
    const context = await contextOf();
    const tx = context.database.db;
    const { id: company_id } = await createCompany(tx);
    await tx
      .insert(schema.plugins)
      .values({ company_id, name: 'Wanted', slug: 'wanted', host_capabilities: [], wanted: true });
    await tx
      .insert(schema.mcp_servers)
      .values({ company_id, name: 'due', url: 'https://example.com/mcp', next_refresh_at: past(1) });
    let refreshed = 0;
    const plugins = {
      ...context.plugins,
      kick: () => {
        throw new Error('no place for plugins');
      },
    };
    const mcp_servers = { ...context.mcp_servers, kick: async () => void (refreshed += 1) };
    await expect(tick({ ...context, plugins, mcp_servers }, 'due-work')).rejects.toThrow(
      'no place for plugins',
    );
    expect(refreshed).toBe(1);
    await tx.delete(schema.plugins).where(eq(schema.plugins.company_id, company_id));
    await tx.delete(schema.mcp_servers).where(eq(schema.mcp_servers.company_id, company_id));
  });

  it('fire a schedule that is due, once, and forget old fires', async () => {
    const context = await contextOf();
    const tx = context.database.db;
    const { id: company_id } = await createCompany(tx);
    const [routine] = await tx
      .insert(schema.routines)
      .values({ company_id, name: 'Daily', title_template: 'Daily' })
      .returning();
    await tx.insert(schema.routine_triggers).values({
      company_id,
      routine_id: routine!.id,
      kind: 'schedule',
      cron_expression: '0 9 * * *',
      timezone: 'UTC',
      next_fire_at: past(2),
    });
    await tx.insert(schema.routine_runs).values({
      company_id,
      routine_id: routine!.id,
      source: 'manual',
      status: 'skipped',
      created_at: past(91),
    });
    await tick(context, 'due-work');
    await tick(context, 'due-work');
    await tick(context, 'run-retention');
    const { rows } = await context.database.pool.query(
      'select source, status from routine_runs where routine_id = $1',
      [routine!.id],
    );
    expect(rows).toEqual([{ source: 'schedule', status: 'enqueued' }]);
  });

  it('fire one schedule of each company in turn, however many another one has that are due for longer', async () => {
    const { database, logger } = await contextOf();
    const due = async (count: number, days: number) => {
      const { id: company_id } = await createCompany(database.db);
      const routine = { company_id, name: 'Daily', title_template: 'Daily' };
      const [made] = await database.db.insert(schema.routines).values(routine).returning();
      const daily = { kind: 'schedule', cron_expression: '0 9 * * *', timezone: 'UTC' };
      const trigger = { company_id, routine_id: made!.id, ...daily, next_fire_at: past(days) };
      await database.db.insert(schema.routine_triggers).values(Array.from({ length: count }, () => trigger));
      return async () =>
        database.db.$count(schema.routine_runs, eq(schema.routine_runs.company_id, company_id));
    };
    const [many, one] = [await due(10, 5), await due(1, 1)];
    const never = new AbortController().signal;
    await fireSchedules({ database, logger }, never, 4);
    expect([await many(), await one()]).toEqual([3, 1]);
    await fireSchedules({ database, logger }, never);
    expect([await many(), await one()]).toEqual([10, 1]);
  });

  it('purge old trash, however much of it can’t be purged', async () => {
    const context = await contextOf();
    const { db, pool } = context.database;
    const { id: company_id } = await createCompany(db);
    const titles = ['poison', 'poison', 'well'];
    const notes = await db
      .insert(schema.notes)
      .values(
        titles.map((title) => ({ company_id, title, body_markdown: '', kind: 'note', deleted_at: past(40) })),
      )
      .returning();
    const entries = notes.map(({ id: entity_id, title: name }, place) => ({
      type: 'note',
      entity_id,
      company_id,
      name,
      deleted_at: past(40 - place),
    }));
    await db.insert(schema.trash_entries).values(entries);
    await pool.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'poison'; end $$`,
    );
    await pool.query(
      `create trigger poison before delete on notes for each row when (old.title = 'poison') execute function refuse()`,
    );
    await expect(tick(context, 'trash-retention')).rejects.toThrow('not all of the old trash');
    const kept = await db.select().from(schema.notes).where(eq(schema.notes.company_id, company_id));
    expect(kept.map(({ title }) => title)).toEqual(['poison', 'poison']);
    await pool.query('drop trigger poison on notes');
    await tick(context, 'trash-retention');
    expect(await db.$count(schema.notes, eq(schema.notes.company_id, company_id))).toBe(0);
  });

  it('end the lost runs that can be ended, however many can’t, and try those again only after a while', async () => {
    const context = await contextOf();
    const { db, pool } = context.database;
    const agent = await createAgent(db, await createCompany(db), { max_concurrent_runs: 9 });
    const lease = {
      status: 'running',
      claimed_by: 'gone',
      fence: 1,
      wake_reason: 'manual',
      adapter_type: 'llm',
    };
    const runs = ['poison', 'poison', 'poison', 'well'].map((trigger_detail, place) => ({
      ...lease,
      id: newId(),
      company_id: agent.company_id,
      agent_id: agent.id,
      trigger_detail,
      lease_expires_at: past(4 - place),
    }));
    await db.insert(schema.heartbeat_runs).values(runs);
    await pool.query(`
      create or replace function refuse_end() returns trigger language plpgsql as 'begin raise exception ''no end''; end';
      create or replace trigger refuse_end before update of status on heartbeat_runs for each row
        when (new.trigger_detail = 'poison') execute function refuse_end()`);
    const quiet = { ...context, logger: { ...context.logger, warn: () => undefined } };
    try {
      await expect(tick(quiet, 'due-work')).rejects.toMatchObject({
        errors: runs.slice(0, 3).map(({ id }) => ({ run_id: id, cause: expect.anything() })),
      });
      const ended = 'select trigger_detail, status from heartbeat_runs where id = any ($1) order by 1';
      const { rows } = await pool.query(ended, [runs.map(({ id }) => id)]);
      expect(rows).toEqual([
        ...Array.from({ length: 3 }, () => ({ trigger_detail: 'poison', status: 'running' })),
        { trigger_detail: 'well', status: 'failed' },
      ]);
      // They rest for a minute.
      await tick(quiet, 'due-work');
    } finally {
      await pool.query('drop trigger refuse_end on heartbeat_runs');
      await pool.query("delete from heartbeat_runs where trigger_detail = 'poison'");
    }
  });

  it('end a run whose lease has lapsed, and forget old runs', async () => {
    const context = await contextOf();
    const tx = context.database.db;
    const agent = await createAgent(tx, await createCompany(tx));
    const base = {
      company_id: agent.company_id,
      agent_id: agent.id,
      wake_reason: 'manual',
      adapter_type: 'llm',
    };
    const [lost, old] = [newId(), newId()];
    await tx.insert(schema.heartbeat_runs).values([
      { ...base, id: lost, status: 'running', claimed_by: 'gone', fence: 1, lease_expires_at: past(1) },
      { ...base, id: old, status: 'succeeded', finished_at: past(102) },
    ]);
    const quiet = { ...context, logger: { ...context.logger, warn: () => undefined } };
    await tick(quiet, 'due-work');
    await tick(context, 'run-retention');
    const { rows } = await context.database.pool.query(
      'select id, status, error from heartbeat_runs where id = any ($1)',
      [[lost, old]],
    );
    expect(rows).toEqual([{ id: lost, status: 'failed', error: 'run lost: scheduler stopped' }]);
  });

  it('forget events after as many days as the setting says, a week without one', async () => {
    const test = await cloneDatabase('event_retention');
    const context = { ...(await contextOf()), database: test.database };
    const { db } = test.database;
    await db.insert(schema.events).values(
      [8, 5, 2].map((days, index) => ({
        seq: index + 1,
        id: newId(),
        type: 'issue_updated',
        data: {},
        occurred_at: past(days),
      })),
    );
    const left = async () =>
      (await db.select({ seq: schema.events.seq }).from(schema.events)).map(({ seq }) => seq);
    await tick(context, 'event-retention');
    expect(await left()).toEqual([2, 3]);
    await putSetting(db, 'event_retention_days', 3);
    await tick(context, 'event-retention');
    expect(await left()).toEqual([3]);
  });

  it('copy the words of descriptions that an earlier release has written, and drop its index', async () => {
    const test = await cloneDatabase('older_words');
    const context = { ...(await contextOf()), database: test.database };
    const { db, pool } = test.database;
    const { id } = await createIssue(db, await createCompany(db), { body_markdown: 'Linen' });
    await pool.query(`delete from issue_words;
      create index issues_text on issues using gin (company_id, (to_tsvector('simple', left(coalesce(body_markdown, ''), 100000))))`);
    await tick(context, 'issue-words');
    const { rows } = await pool.query(
      `select issue_id, words::text, to_regclass('issues_text') from issue_words`,
    );
    expect(rows).toEqual([{ issue_id: id, words: "'linen':1", to_regclass: null }]);
  });

  it('keep activity and costs for ever, or by the quarter for as many days as the settings say', async () => {
    const test = await cloneDatabase('quarters_kept');
    const context = { ...(await contextOf()), database: test.database };
    const { db, pool } = test.database;
    const parts = async () => {
      const { rows } = await pool.query<{ part: string }>(
        `select part from time_partitions('activity') union all select part from time_partitions('cost_events')`,
      );
      return rows.map(({ part }) => part.replace(/\d{8}/, 'new')).toSorted();
    };
    // As if the first quarters had ended years ago.
    for (const table of ['activity', 'cost_events'])
      await pool.query(`alter table ${table} detach partition ${table}_first;
        alter table ${table} attach partition ${table}_first for values from (minvalue) to ('2020-01-01')`);
    // Totals of days go with the events.
    await pool.query(`insert into cost_days select gen_random_uuid(), day::date, null, null, 'm', 1, 0, 1, 1, 1, true
      from (values ('2019-12-31'), ('2050-01-01')) as t (day)`);
    const days = async () =>
      (
        await pool.query<{ day: string }>(
          'select day::text from cost_days union select day::text from cost_day_sums order by 1',
        )
      ).rows.map(({ day }) => day);
    const both = ['activity_first', 'activity_new', 'cost_events_first', 'cost_events_new'];
    await tick(context, 'time-partitions');
    expect(await parts()).toEqual(both);
    await putSetting(db, 'activity_retention_days', 36_500);
    await tick(context, 'time-partitions');
    expect(await parts()).toEqual(both);
    await putSetting(db, 'activity_retention_days', 400);
    await tick(context, 'time-partitions');
    expect(await parts()).toEqual(both.slice(1));
    expect(await days()).toEqual(['2019-12-31', '2050-01-01']);
    await putSetting(db, 'cost_event_retention_days', 400);
    await tick(context, 'time-partitions');
    expect(await parts()).toEqual(['activity_new', 'cost_events_new']);
    expect(await days()).toEqual(['2050-01-01']);
  });

  it('forget security events and addresses of keys after as many days as the setting says, a year without one', async () => {
    const test = await cloneDatabase('security_retention');
    const context = { ...(await contextOf()), database: test.database };
    const { db } = test.database;
    const days = [366, 300, 10];
    await db.insert(schema.security_events).values(
      days.map((age) => ({
        kind: 'sign_in.failed',
        subject: `${age}`,
        details: {},
        created_at: past(age),
      })),
    );
    await db
      .insert(schema.key_addresses)
      .values(days.map((age) => ({ key_id: newId(), address: `${age}`, last_used_at: past(age) })));
    const left = async () => {
      const events = await db.select({ at: schema.security_events.subject }).from(schema.security_events);
      const addresses = await db.select({ at: schema.key_addresses.address }).from(schema.key_addresses);
      return [events, addresses].map((rows) => rows.map(({ at }) => at).toSorted());
    };
    await tick(context, 'security-retention');
    expect(await left()).toEqual([
      ['10', '300'],
      ['10', '300'],
    ]);
    await putSetting(db, 'security_event_retention_days', 30);
    await tick(context, 'security-retention');
    expect(await left()).toEqual([['10'], ['10']]);
  });

  it('move marks of what was read to the present', async () => {
    const context = await contextOf();
    const { db } = context.database;
    const { id: company_id } = await createCompany(db);
    const marks = [newId(), newId()].map((reader_id) => ({ reader_id, company_id }));
    await db.insert(schema.read_marks).values([marks[0]!, { ...marks[1]!, read_to: past(2) }]);
    await tick(context, 'read-marks');
    const moved = await db
      .select()
      .from(schema.read_marks)
      .where(eq(schema.read_marks.company_id, company_id));
    expect(moved.map(({ read_to }) => read_to !== null && read_to > past(1))).toEqual([true, true]);
  });
});

import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { type Actor, type UpdateRoutineTrigger } from '@acp/contract';
import { Vault } from '@acp/kernel';
import { actors, createAgent, createCompany, databaseWithQueue } from '@acp/testkit';
import { asc, eq } from 'drizzle-orm';
import { dueWork } from '../runs/index.ts';
import {
  createRoutine,
  createTrigger,
  deleteTrigger,
  deleteRoutineRunsBefore,
  findRoutine,
  findRoutineTrigger,
  companiesWithDueSchedules,
  fireDueSchedule,
  nextFireTime,
  promoteRoutine,
  restoreRoutine,
  updateRoutine,
  updateTrigger,
} from './index.ts';
import { findIssue } from '../issues/index.ts';
import { createIssue } from '@acp/testkit';

let database: Database;
const actor: Actor = actors.system;
const switchAllOff = async () =>
  database.pool.query('update routine_triggers set enabled = false, next_fire_at = null');
beforeAll(async () => {
  database = await databaseWithQueue();
  await switchAllOff();
});
// Otherwise one test's due schedule would be the next one's first.
afterEach(switchAllOff);

const inTx = async <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(database, work);
const fireAll = async () => {
  const fired = [];
  for (const company_id of await companiesWithDueSchedules(database.db, 100)) {
    const next = async () => inTx(async (tx) => fireDueSchedule(tx, company_id));
    for (let done = await next(); done; done = await next()) fired.push(done);
  }
  return fired;
};

async function scene({ cron = '0 9 * * *', timezone = 'Europe/Berlin' } = {}) {
  const company = await createCompany(database.db);
  const routine = await inTx(async (tx) => {
    const made = await createRoutine(tx, actor, company.id, {
      name: 'Daily',
      concurrency_policy: 'always_enqueue',
    });
    return (await findRoutine(tx, made.id))!;
  });
  const body = { kind: 'schedule', cron_expression: cron, timezone } as const;
  const trigger = await inTx(async (tx) => createTrigger(tx, actor, routine, body, new Vault(null)));
  const due = async (at: string) =>
    database.pool.query(`update routine_triggers set next_fire_at = ${at} where id = $1`, [trigger.id]);
  const now = async () => (await findRoutineTrigger(database.db, trigger.id))!;
  const patch = async (input: UpdateRoutineTrigger) =>
    inTx(async (tx) => updateTrigger(tx, actor, (await findRoutineTrigger(tx, trigger.id))!, input));
  const runs = async () =>
    database.db
      .select()
      .from(schema.routine_runs)
      .where(eq(schema.routine_runs.trigger_id, trigger.id))
      .orderBy(asc(schema.routine_runs.created_at));
  return { company, routine, trigger, due, now, patch, runs };
}

describe('a schedule', () => {
  it('that is new is due at its next time, and shows on its routine', async () => {
    const { routine, trigger } = await scene();
    const expected = nextFireTime('0 9 * * *', 'Europe/Berlin', new Date(trigger.created_at));
    expect(trigger).toMatchObject({
      kind: 'schedule',
      next_fire_at: expected,
      secret: null,
      signing_mode: 'none',
    });
    expect(await findRoutine(database.db, routine.id)).toMatchObject({ next_fire_at: expected });
    expect((await dueWork(database.db)).schedules).toBe(false);
    expect(await fireAll()).toEqual([]);
  });

  it('that is due fires, and in the same transaction is put off to its next time', async () => {
    const { company, routine, due, now, runs } = await scene();
    await due("now() - interval '1 second'");
    const { next_fire_at: due_at } = await now();
    expect((await dueWork(database.db)).schedules).toBe(true);
    await expect(
      inTx(async (tx) => {
        await fireDueSchedule(tx, company.id);
        throw new Error('the scheduler dies here');
      }),
    ).rejects.toThrow('dies here');
    expect([await runs(), (await now()).next_fire_at]).toEqual([[], due_at]);
    expect(await fireAll()).toHaveLength(1);
    const [run] = await runs();
    expect(run).toMatchObject({
      source: 'schedule',
      status: 'enqueued',
      due_at,
      payload: null,
      routine_id: routine.id,
    });
    expect((await now()).next_fire_at).toEqual(nextFireTime('0 9 * * *', 'Europe/Berlin', run!.created_at));
    expect((await dueWork(database.db)).schedules).toBe(false);
    const issue = await findIssue(database.db, run!.issue_id!);
    expect(issue).toMatchObject({ title: 'Daily', origin_kind: 'routine', origin_id: run!.id });
  });

  it('of every minute that missed three days fires once, for the time that was due first', async () => {
    const { due, now, runs } = await scene({ cron: '* * * * *' });
    await due("date_trunc('minute', now()) - interval '3 days'");
    const { next_fire_at: due_at } = await now();
    await fireAll();
    expect(await runs()).toEqual([expect.objectContaining({ due_at })]);
    expect((await now()).next_fire_at!.getTime()).toBeGreaterThan(due_at!.getTime() + 3 * 86_400_000 - 1);
  });

  it('that several schedulers find due at once fires once', async () => {
    const scenes = await Promise.all(Array.from({ length: 6 }, async () => scene()));
    for (const { due } of scenes) await due("now() - interval '1 minute'");
    const fired = await Promise.all(Array.from({ length: 4 }, fireAll));
    expect(fired.flat()).toHaveLength(6);
    for (const { runs } of scenes) expect(await runs()).toHaveLength(1);
  });

  it('for an instant that fired already, as after a clock that was set back, goes on without a second run', async () => {
    const { due, now, runs } = await scene();
    await due("'2026-01-01 08:00Z'");
    await fireAll();
    await due("'2026-01-01 08:00Z'");
    expect(await fireAll()).toEqual([expect.objectContaining({ fired: null })]);
    expect(await runs()).toHaveLength(1);
    expect((await now()).next_fire_at!.getTime()).toBeGreaterThan(Date.now());
  });

  it.each([
    ['is paused', "update routines set status = 'paused' where id = $1"],
    ['lies in the trash', 'update routines set deleted_at = now() where id = $1'],
    [
      'is of a company in the trash',
      'update companies set deleted_at = now() where id = (select company_id from routines where id = $1)',
    ],
  ])('whose routine %s goes on without firing', async (_why, statement) => {
    const { routine, trigger, due, runs } = await scene();
    await database.pool.query(statement, [routine.id]);
    await due("now() - interval '1 minute'");
    expect(await fireAll()).toEqual([{ trigger_id: trigger.id, fired: null }]);
    expect(await runs()).toEqual([]);
    expect((await dueWork(database.db)).schedules).toBe(false);
  });

  it('whose routine comes back makes up for nothing', async () => {
    const { routine, due, now } = await scene();
    const paused = await inTx(async (tx) => updateRoutine(tx, actor, routine, { status: 'paused' }));
    expect(paused.next_fire_at).toBeNull();
    await due("now() - interval '1 hour'");
    const row = (await findRoutine(database.db, routine.id))!;
    const resumed = await inTx(async (tx) => updateRoutine(tx, actor, row, { status: 'active' }));
    expect(new Date(resumed.next_fire_at!).getTime()).toBeGreaterThan(Date.now());
    await database.pool.query('update routines set deleted_at = now() where id = $1', [routine.id]);
    await due("now() - interval '1 hour'");
    await inTx(async (tx) => restoreRoutine(tx, actor, routine.id));
    expect((await now()).next_fire_at!.getTime()).toBeGreaterThan(Date.now());
    expect(await fireAll()).toEqual([]);
  });

  it('that is switched on while another change is under way is due again, whichever comes first', async () => {
    const { trigger, now, patch } = await scene();
    const expected = { enabled: true, next_fire_at: expect.any(Date) };
    const withRowOf = async (before: Awaited<ReturnType<typeof now>>, input: UpdateRoutineTrigger) =>
      inTx(async (tx) => updateTrigger(tx, actor, before, input));
    const on = await now();
    await patch({ enabled: false });
    await withRowOf(on, { enabled: true });
    expect(await now()).toMatchObject(expected);
    await patch({ enabled: false });
    const off = await now();
    await patch({ enabled: true });
    await withRowOf(off, { cron_expression: '0 10 * * *' });
    expect(await now()).toMatchObject(expected);
    const berlin = await now();
    await patch({ timezone: 'UTC' });
    await withRowOf(berlin, { cron_expression: '30 11 * * *' });
    expect((await now()).next_fire_at!.toISOString()).toMatch(/T11:30/);
    await inTx(async (tx) => deleteTrigger(tx, actor, await now()));
    await expect(withRowOf({ ...berlin, id: trigger.id }, { label: 'x' })).rejects.toMatchObject({
      kind: 'not_found',
    });
  });

  it('whose routine is active again although it was when the request was read makes up for nothing', async () => {
    const { routine, due, now } = await scene();
    await inTx(async (tx) => updateRoutine(tx, actor, routine, { status: 'paused' }));
    await due("now() - interval '1 hour'");
    await inTx(async (tx) => updateRoutine(tx, actor, routine, { status: 'active' }));
    expect((await now()).next_fire_at!.getTime()).toBeGreaterThan(Date.now());
  });

  it('that can not do what the routine says leaves a failed run, and the others fire', async () => {
    const [broken, sound] = [await scene(), await scene()];
    const stranger = await createAgent(database.db, await createCompany(database.db));
    await database.pool.query('update routines set assignee_agent_id = $2 where id = $1', [
      broken.routine.id,
      stranger.id,
    ]);
    await broken.due("now() - interval '2 minutes'");
    await sound.due("now() - interval '1 minute'");
    expect(await fireAll()).toHaveLength(2);
    expect(await broken.runs()).toEqual([
      expect.objectContaining({
        status: 'failed',
        error: 'assignee_agent_id: unknown agent',
        issue_id: null,
      }),
    ]);
    expect(await sound.runs()).toEqual([expect.objectContaining({ status: 'enqueued' })]);
  });

  it('whose zone the platform has forgotten fires a last time and is switched off', async () => {
    const { trigger, due, now, runs } = await scene();
    await database.pool.query("update routine_triggers set timezone = 'Mars/Base' where id = $1", [
      trigger.id,
    ]);
    await due("now() - interval '1 minute'");
    await fireAll();
    expect(await runs()).toHaveLength(1);
    expect(await now()).toMatchObject({ enabled: false, next_fire_at: null });
  });
});

describe('a change of a schedule', () => {
  it('switched off it is due no more, switched on it counts from now', async () => {
    const { due, patch } = await scene();
    await due("now() - interval '1 day'");
    expect(await patch({ enabled: false })).toMatchObject({ enabled: false, next_fire_at: null });
    expect(await fireAll()).toEqual([]);
    const { next_fire_at: next } = await patch({ enabled: true });
    expect(new Date(next!).getTime()).toBeGreaterThan(Date.now());
  });

  it('of its label alone keeps what is due', async () => {
    const { due, now, patch } = await scene();
    await due("now() - interval '1 day'");
    const { next_fire_at: before } = await now();
    await patch({ label: 'morning', enabled: true });
    expect(await now()).toMatchObject({ label: 'morning', next_fire_at: before });
  });

  it('of zone or expression moves its next fire; a bad one is refused, switched off or not', async () => {
    const { patch } = await scene();
    const utc = await patch({ timezone: 'UTC', cron_expression: ' 30  8 * * * ' });
    expect(utc.cron_expression).toBe('30 8 * * *');
    expect(new Date(utc.next_fire_at!).toISOString()).toMatch(/T08:30:00.000Z$/);
    await patch({ enabled: false });
    await expect(patch({ timezone: 'Mars/Base' })).rejects.toThrow('timezone: unknown time zone');
    await expect(patch({ cron_expression: '* * * * * *' })).rejects.toThrow('five fields');
    expect(await patch({ cron_expression: '0 7 * * *' })).toMatchObject({ next_fire_at: null });
  });
});

it('an issue is promoted: a routine like it, Mondays at nine', async () => {
  const company = await createCompany(database.db);
  const { id } = await createIssue(database.db, company, {
    title: 'Review {{payload}}',
    priority: 'low',
    body_markdown: 'How',
  });
  const issue = (await findIssue(database.db, id))!;
  const routine = await inTx(async (tx) => promoteRoutine(tx, actor, issue));
  expect(routine).toMatchObject({
    name: 'Review {{payload}}',
    title_template: 'Review {{payload}}',
    body_template: 'How',
    priority: 'low',
    status: 'active',
  });
  expect(new Date(routine.next_fire_at!).toISOString()).toMatch(/T09:00:00.000Z$/);
  expect(new Date(routine.next_fire_at!).getUTCDay()).toBe(1);
  await expect(
    inTx(async (tx) => promoteRoutine(tx, actor, issue, { cron_expression: 'daily' })),
  ).rejects.toThrow('five fields');
});

it('runs that are old are forgotten, but for those whose issue is open', async () => {
  const { due, runs } = await scene();
  await due("'2026-01-01 08:00Z'");
  await fireAll();
  await due("'2026-01-02 08:00Z'");
  await fireAll();
  const [first] = await runs();
  await database.pool.query("update issues set status = 'done' where id = $1", [first!.issue_id]);
  await database.pool.query(
    "update routine_runs set created_at = now() - interval '91 days' where trigger_id = $1",
    [first!.trigger_id],
  );
  expect(await deleteRoutineRunsBefore(database.db, 90, 100)).toBe(1);
  expect(await runs()).toEqual([expect.not.objectContaining({ id: first!.id })]);
});

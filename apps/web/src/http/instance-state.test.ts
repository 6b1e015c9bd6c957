import { mock } from 'node:test';
import { afterEach, expect, it } from '@jest/globals';
import { putFlag, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { cloneDatabase, testLogger, waitFor } from '@acp/testkit';
import type { SQL } from 'drizzle-orm';
import { InstanceState } from './instance-state.ts';
import { hearOwn } from './own-signals.ts';

const opened: InstanceState[] = [];
afterEach(() => {
  mock.timers.reset();
  for (const state of opened.splice(0)) state.close();
});

async function open() {
  const test = await cloneDatabase('instance_state');
  const { database } = test;
  const state = new InstanceState({ database, logger: testLogger() });
  opened.push(state);
  return { database, notifier: test.notifier, state };
}

it('is read anew for requests, every ten seconds at most, and not at all without them', async () => {
  const { database, state } = await open();
  await state.refresh();
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const read = database.statements();
  mock.timers.tick(24 * 3600 * 1000 - 1);
  expect(database.statements()).toBe(read);
  mock.timers.reset();
  // Its signal is lost: this state has no listener.
  await transaction(database, async (tx) => putFlag(tx, systemActor('test'), 'councils', { value: false }));
  expect(state.hasFeature('councils')).toBe(true);
  const spare = performance.now.bind(performance);
  const clock = mock.method(performance, 'now', () => spare() + 11_000);
  const before = database.statements();
  expect(state.hasFeature('councils')).toBe(true);
  await waitFor(() => !state.hasFeature('councils'));
  expect(database.statements() - before).toBe(1);
  clock.mock.restore();
});

it('is read before the first requests after a pause are served, once for all of them', async () => {
  const { database, state } = await open();
  await state.refresh();
  await transaction(database, async (tx) => putFlag(tx, systemActor('test'), 'councils', { value: false }));
  expect(state.afterPause()).toBeUndefined();
  const spare = performance.now.bind(performance);
  const clock = mock.method(performance, 'now', () => spare() + 21_000);
  const before = database.statements();
  await Promise.all([state.afterPause(), state.afterPause()]);
  expect(state.hasFeature('councils')).toBe(false);
  expect(database.statements() - before).toBe(1);
  expect(state.afterPause()).toBeUndefined();
  clock.mock.restore();
});

it('is still not served as it was before a pause once a reading has failed', async () => {
  const { database, state } = await open();
  await state.refresh();
  await transaction(database, async (tx) => putFlag(tx, systemActor('test'), 'councils', { value: false }));
  const spare = performance.now.bind(performance);
  const clock = mock.method(performance, 'now', () => spare() + 21_000);
  const away = mock.method(database.db, 'execute', (async () => {
    throw new Error('away');
  }) as never);
  await expect(state.afterPause()).rejects.toThrow('away');
  away.mock.restore();
  await state.afterPause();
  expect(state.hasFeature('councils')).toBe(false);
  clock.mock.restore();
});

it('is read before the next request when this process has changed it, even while an earlier reading is in progress', async () => {
  const { database, notifier, state } = await open();
  await state.refresh();
  database.notifier = hearOwn(notifier, 'instance', () => state.outdate());
  const put = async (value: boolean) =>
    transaction(database, async (tx) => putFlag(tx, systemActor('test'), 'councils', { value }));
  await put(false);
  await state.afterPause();
  expect(state.hasFeature('councils')).toBe(false);
  expect(state.afterPause()).toBeUndefined();
  // A reading that has seen the former value, and is answered last.
  const [seen, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const execute = database.db.execute.bind(database.db);
  const held = mock.method(database.db, 'execute', (async (query: SQL) => {
    const result = await execute(query);
    seen.resolve();
    await answered.promise;
    return result;
  }) as never);
  const early = state.refresh();
  await seen.promise;
  held.mock.restore();
  await put(true);
  // Its own signal has come back: that reading does not wait for anybody, but requests do.
  const late = state.refresh();
  expect(state.afterPause()).toBeDefined();
  await state.afterPause();
  expect(state.hasFeature('councils')).toBe(true);
  answered.resolve();
  await Promise.all([early, late]);
  expect(state.hasFeature('councils')).toBe(true);
});

it('is read-only as soon as the license has ended, without anybody telling', async () => {
  const { database, state } = await open();
  const ends = async (at: string) =>
    database.pool.query(`insert into instance_settings (key, value) values ('entitlement',
      jsonb_build_object('first_boot', now(), 'until', ${at}))
      on conflict (key) do update set value = excluded.value`);
  await ends(`now() + interval '1 hour'`);
  const start = setTimeout;
  const alarms: (() => void)[] = [];
  const timers = mock.method(globalThis, 'setTimeout', (work: () => void, ms: number) => {
    if (ms > 3_000_000) alarms.push(work);
    return start(work, ms);
  });
  await state.refresh();
  timers.mock.restore();
  expect(state.read_only).toBe(false);
  await ends('now()');
  // As if the hour had passed.
  const [ring] = alarms as [() => void];
  ring();
  await waitFor(() => state.read_only);
  expect(alarms).toHaveLength(1);
});

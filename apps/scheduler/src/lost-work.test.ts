import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Sweep } from '@acp/core';
import type { Database } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import { databaseWithQueue, testLogger } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { LostWork } from './lost-work.ts';
import { TickCounters } from './tick-counters.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const lookOf = (sweeps: readonly Sweep[]) => {
  const counters = new TickCounters();
  const logged: unknown[] = [];
  const log = (message: string, fields?: object) => logged.push({ message, ...fields });
  const logger = { ...testLogger(), warn: log, info: log };
  let now = 0;
  const lost = new LostWork({ config: loadConfig({}), counters, database, logger }, sweeps, () => now);
  return {
    counters,
    logged,
    at: async (second: number) => {
      now = second * 1000;
      await lost.look(new AbortController().signal);
    },
  };
};

describe('the look for lost work', () => {
  it('runs the sweeps that have something to do, each at its interval, and none of the others', async () => {
    const done: string[] = [];
    const sweep = (name: string, interval_sec: number, waits: boolean): Sweep => ({
      name,
      interval_sec,
      waiting: sql`select where ${waits}`,
      work: async () => done.push(name),
    });
    const { at, counters } = lookOf([
      sweep('often', 10, true),
      sweep('seldom', 30, true),
      sweep('idle', 10, false),
    ]);
    for (const second of [0, 9.2, 19.8, 29, 39.5]) await at(second);
    expect(done.filter((name) => name === 'often')).toHaveLength(5);
    expect(done.filter((name) => name === 'seldom')).toHaveLength(2);
    expect(counters.snapshot()).toMatchObject({
      often: { ticks: 5 },
      idle: { ticks: 0, interval_sec: null },
    });
  });

  it('tries one that fails again after longer and longer, and the others as usual', async () => {
    const done: string[] = [];
    let broken = true;
    const waiting = sql`select`;
    const { at, counters, logged } = lookOf([
      {
        name: 'broken',
        interval_sec: 10,
        waiting,
        work: async () => {
          done.push('broken');
          if (broken) throw new Error('no');
        },
      },
      { name: 'fine', interval_sec: 10, waiting, work: async () => done.push('fine') },
    ]);
    for (let second = 0; second <= 70; second += 10) await at(second);
    expect(done.filter((name) => name === 'fine')).toHaveLength(8);
    // After 20 and 40 s.
    expect(done.filter((name) => name === 'broken')).toHaveLength(3);
    expect(counters.snapshot()).toMatchObject({ broken: { ticks: 3, errors: 3 }, fine: { errors: 0 } });
    expect(logged).toMatchObject([
      { message: 'a timer failed', timer: 'broken', failures: 1 },
      { failures: 2 },
    ]);
    broken = false;
    await at(140);
    await at(150);
    expect(done.filter((name) => name === 'broken')).toHaveLength(5);
    expect(logged.at(-1)).toEqual({ message: 'a timer works again', timer: 'broken', failures: 3 });
  });

  it('repeats one that does one thing at a time until nothing is left', async () => {
    let left = 3;
    const work = async () => (left -= 1) > 0;
    const { at } = lookOf([
      { name: 'things', interval_sec: 10, waiting: sql`select`, work, one_by_one: true },
    ]);
    await at(0);
    expect(left).toBe(0);
  });
});

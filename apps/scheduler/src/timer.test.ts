import { describe, expect, it } from '@jest/globals';
import { testLogger, waitFor } from '@acp/testkit';
import { TickCounters } from './tick-counters.ts';
import { Timer } from './timer.ts';

const quiet = { ...testLogger(), warn: () => undefined, info: () => undefined };

describe('a timer', () => {
  it('repeats its work, never two ticks at once, and stops after the one under way', async () => {
    const counters = new TickCounters();
    let [inside, most, done] = [0, 0, 0];
    const timer = new Timer({
      name: 'work',
      interval_sec: 0.005,
      counters,
      logger: quiet,
      work: async () => {
        inside += 1;
        most = Math.max(most, inside);
        await waitFor(() => performance.now() % 20 < 10);
        inside -= 1;
        done += 1;
      },
    });
    timer.start();
    await waitFor(() => done >= 5);
    await timer.stop();
    const { ticks, errors, last_tick_at: last } = counters.snapshot().work!;
    expect([most, inside, ticks, errors]).toEqual([1, 0, done, 0]);
    expect(last).toBeInstanceOf(Date);
  });

  it('whose work fails is counted, and goes on with longer pauses', async () => {
    const counters = new TickCounters();
    const at: number[] = [];
    const timer = new Timer({
      name: 'work',
      interval_sec: 0.02,
      counters,
      logger: quiet,
      work: async () => {
        at.push(performance.now());
        throw new Error('no');
      },
    });
    timer.start();
    await waitFor(() => at.length >= 4);
    await timer.stop();
    expect(counters.snapshot().work!.errors).toBe(at.length);
    // 20 ms doubled once, then twice; the ceiling is five intervals.
    expect(at[2]! - at[1]!).toBeGreaterThan(60);
    expect(at[3]! - at[2]!).toBeGreaterThan(80);
  });

  it('that rests while there is nothing to do ticks again at the next moment, when woken, and while something happens', async () => {
    const counters = new TickCounters();
    const ticks: number[] = [];
    let idleMs = 60_000;
    const timer = new Timer({
      name: 'work',
      interval_sec: 0.01,
      rest_sec: 3600,
      lively_ms: 400,
      counters,
      logger: quiet,
      work: async () => {
        ticks.push(performance.now());
        return idleMs;
      },
    });
    const rests = async (): Promise<void> => {
      const count = ticks.length;
      await waitFor(() => performance.now() - (ticks.at(-1) ?? Infinity) > 500 || ticks.length > count);
      if (ticks.length > count) await rests();
    };
    timer.start();
    await rests();
    const rested = ticks.length;
    timer.wake();
    await waitFor(() => ticks.length > rested + 1, { what: 'more than the one tick of being woken' });
    await rests();
    // There was work, so it stays lively. Then the next due time is known.
    idleMs = 0;
    timer.wake();
    const from = ticks.length;
    await waitFor(() => ticks.length > from + 20);
    idleMs = 700;
    const told = performance.now();
    await waitFor(() => ticks.length > 1 && ticks.at(-1)! - ticks.at(-2)! >= 700);
    expect(ticks.filter((at) => at > told).length).toBeLessThan(80);
    await timer.stop();
    timer.wake();
  });
});

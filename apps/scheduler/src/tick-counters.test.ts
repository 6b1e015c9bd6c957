import { describe, expect, it } from '@jest/globals';
import { TickCounters } from './tick-counters.ts';

const MINUTE = 60_000;

describe('the ticks of a worker', () => {
  const start = () => {
    let now = 0;
    const counters = new TickCounters(() => now);
    counters.declare('sweep', 20);
    const tick = async (times: number, { fails = false, every_ms = 20_000 } = {}) => {
      for (let n = 0; n < times; n += 1) {
        now += every_ms;
        const work = counters.count('sweep', async () => {
          if (fails) throw new Error('no table');
        });
        await work.catch(() => undefined);
      }
    };
    const rate = () => {
      const { ticks, errors } = counters.snapshot().sweep!;
      return { ticks, errors, failing: ticks > 10 && errors / ticks > 0.5 };
    };
    return { tick, rate };
  };

  it('fails after a month without an error: its rate tells within twenty minutes, and again when it works', async () => {
    const { tick, rate } = start();
    await tick((30 * 24 * 60 * MINUTE) / 20_000);
    expect(rate()).toMatchObject({ errors: 0, failing: false });
    expect(rate().ticks).toBeLessThan(70);
    await tick(3, { fails: true });
    expect(rate()).toMatchObject({ errors: 3, failing: false });
    await tick(57, { fails: true });
    expect(rate().failing).toBe(true);
    await tick(60);
    expect(rate().failing).toBe(false);
  });

  it('are rare: enough of them are kept for a rate', async () => {
    const { tick, rate } = start();
    await tick(100, { every_ms: 24 * 60 * MINUTE });
    expect(rate().ticks).toBeGreaterThan(10);
    await tick(12, { every_ms: 24 * 60 * MINUTE, fails: true });
    expect(rate().failing).toBe(true);
  });

  it('are many: those of some minutes count, however many they are', async () => {
    const { tick, rate } = start();
    await tick(5000, { every_ms: 10 });
    await tick(500, { every_ms: 10, fails: true });
    expect(rate()).toEqual({ ticks: 5500, errors: 500, failing: false });
  });
});

/** Seeded random mixes against real processes; `npm run test:invariants` runs many. */
import { describe, expect, it } from '@jest/globals';
import { runMix } from './invariants/mix.ts';
import { seeds, printSummary, writeReport } from './invariants/seeds.ts';

describe.each(seeds())('a company under the mix of seed %i', (seed) => {
  it('keeps every invariant, at rest where things are held back and after they are let go', async () => {
    const { violations, summary, report } = await runMix(seed);
    printSummary(seed, summary);
    const again = `npm run test:invariants -- --seeds 1 --seed ${seed}`;
    const found = violations.length === 0 ? null : { violations, again, report: writeReport(seed, report) };
    expect(found).toBeNull();
  }, 900_000);
});

/** The agent-to-agent protocol's own test kits against both tiers; docs/a2a.md lists where the kits and the service differ. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { killServices } from '@acp/testkit';
import { differences, type Difference, kits } from './a2a/differences.ts';
import { installKits, type Outcome } from './a2a/kit.ts';
import { startSubject, type Subject } from './a2a/subject.ts';

const installed = await installKits(kits.map(({ commit }) => commit));
const left_out = typeof installed === 'string' ? `; left out: ${installed}` : '';
const whereInstalled: typeof describe.skip = left_out ? describe.skip : describe;

afterAll(async () => {
  if (typeof installed === 'object') await rm(installed.folder, { recursive: true, force: true });
});

whereInstalled.each([...kits.entries()])(
  `the test kit %i${left_out}`,
  (place, { version, wait_sec, keyed, keyless }) => {
    let subject: Subject;

    beforeAll(async () => {
      subject = await startSubject(version, wait_sec);
    }, 120_000);

    afterAll(async () => {
      await subject.stop();
      await killServices();
    });

    it(`passes but for what is known: ${version}`, async () => {
      if (typeof installed === 'string') throw new Error(installed);
      const kit = installed.kits[place]!;
      const outcomes = await kit.run(keyed(subject.url));
      if (keyless) for (const each of await kit.run(keyless(subject.keyless_url))) outcomes.set(...each);
      expect(surprises(outcomes, differences[version])).toEqual([]);
    }, 600_000);
  },
);

/** Failures that are not known differences, and known differences that no longer occur. */
function surprises(outcomes: ReadonlyMap<string, Outcome>, known: readonly Difference[]): string[] {
  const left = [...outcomes].filter(([, outcome]) => outcome !== 'PASSED');
  const unknown = left.filter(
    ([test, outcome]) => known.filter((row) => row.outcome === outcome && row.tests.test(test)).length !== 1,
  );
  const counts = known.flatMap((row) => {
    const { length } = left.filter(([test, outcome]) => row.outcome === outcome && row.tests.test(test));
    return length === row.count ? [] : [`${row.tests.source}: ${length} ${row.outcome} and not ${row.count}`];
  });
  return [...unknown.map(([test, outcome]) => `${outcome} ${test}`), ...counts];
}

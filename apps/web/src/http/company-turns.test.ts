import { expect, it } from '@jest/globals';
import { CompanyTurns, turnsOfChanges } from './company-turns.ts';

it('a company’s work is done a few at a time, in its order, and another’s meanwhile', async () => {
  const turns = new CompanyTurns({ at_once: 2, waiting: 3, wait_ms: 60_000 });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const begin = async (company: string, name: string) =>
    turns.take(company, async () => {
      begun.push(name);
      await new Promise<void>((end) => ends.push(end));
      if (name === 'b') throw new Error('b failed');
      return name;
    });
  const work = ['a', 'b', 'c', 'd', 'e'].map(async (name) => begin('one', name).catch(String));
  const other = begin('other', 'x');
  await expect(begin('one', 'f')).rejects.toMatchObject({ kind: 'rate_limited' });
  expect(begun).toEqual(['a', 'b', 'x']);
  for (let done = 0; done < ends.length; done += 1) {
    ends[done]!();
    // Whoever comes next begins within a few turns of the loop.
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
  expect(await Promise.all(work)).toEqual(['a', 'Error: b failed', 'c', 'd', 'e']);
  expect(await other).toBe('x');
  expect(begun).toEqual(['a', 'b', 'x', 'c', 'd', 'e']);
  expect(await turns.take('one', async () => Promise.resolve('again'))).toBe('again');
});

it('who waits too long is refused, and takes nobody’s place', async () => {
  const turns = new CompanyTurns({ at_once: 1, wait_ms: 20 });
  const held = Promise.withResolvers<void>();
  const first = turns.take('one', async () => held.promise);
  await expect(turns.take('one', async () => Promise.resolve())).rejects.toMatchObject({
    kind: 'rate_limited',
  });
  held.resolve();
  await first;
  expect(await turns.take('one', async () => Promise.resolve('free again'))).toBe('free again');
});

it('places that become free together go to as many', async () => {
  const turns = new CompanyTurns({ at_once: 2, wait_ms: 60_000 });
  const held = Promise.withResolvers<void>();
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begun: string[] = [];
  const work = [
    turns.take('a', async () => held.promise),
    turns.take('a', async () => held.promise),
    turns.take('a', async () => one.promise.then(() => begun.push('one'))),
    turns.take('a', async () => two.promise.then(() => begun.push('two'))),
  ];
  held.resolve();
  two.resolve();
  await work[3];
  expect(begun).toEqual(['two']);
  one.resolve();
  await Promise.all(work);
});

it.each([
  [10, 7, 8],
  [5, 3, 3],
  [1, 1, 1],
])('of %i connections, one company’s changes take %i and those of all %i', async (connections, own, all) => {
  const turns = turnsOfChanges(connections);
  const held = Promise.withResolvers<void>();
  const working = { one: 0, other: 0 };
  const begin = async (company: 'one' | 'other') =>
    turns.take(company, async () => {
      working[company] += 1;
      await held.promise;
    });
  const work = Array.from({ length: 10 }, async () => begin('one'));
  work.push(...Array.from({ length: 10 }, async () => begin('other')));
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  expect(working).toEqual({ one: own, other: all - own });
  held.resolve();
  await Promise.all(work);
  expect(working).toEqual({ one: 10, other: 10 });
});

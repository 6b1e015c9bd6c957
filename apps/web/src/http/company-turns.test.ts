import { expect, it } from '@jest/globals';
import { CompanyTurns } from './company-turns.ts';

it('a company’s work is done a few at a time, in its order, and another’s meanwhile', async () => {
  const turns = new CompanyTurns({ at_once: 2, waiting: 3 });
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

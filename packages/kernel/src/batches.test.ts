import { describe, expect, it } from '@jest/globals';
import { Batches } from './batches.ts';

/** Batches that the test completes by hand, one by one. */
function byHand(most = 10) {
  const begun: { items: number[]; answer: PromiseWithResolvers<number[]> }[] = [];
  const batches = new Batches<number, number>({
    most,
    perform: async (items) => {
      const answer = Promise.withResolvers<number[]>();
      begun.push({ items, answer });
      return answer.promise;
    },
  });
  return { begun, batches };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate);
}

describe('Batches', () => {
  it('of callers of one tick, and of those that come while a batch is under way, makes one batch each', async () => {
    const { begun, batches } = byHand();
    const first = [batches.add(1), batches.add(2)];
    await until(() => begun.length > 0);
    const later = [batches.add(3), batches.add(4)];
    expect(begun.map(({ items }) => items)).toEqual([[1, 2]]);
    begun[0]!.answer.resolve([10, 20]);
    expect(await Promise.all(first)).toEqual([10, 20]);
    begun[1]!.answer.resolve([30, 40]);
    expect(await Promise.all(later)).toEqual([30, 40]);
    expect(begun.map(({ items }) => items)).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  it('take no more at once than they may', async () => {
    const { begun, batches } = byHand(2);
    const all = Promise.all([1, 2, 3].map(async (n) => batches.add(n)));
    for (let at = 0; at < 2; at += 1) {
      await until(() => begun.length > at);
      begun[at]!.answer.resolve(begun[at]!.items);
    }
    expect(await all).toEqual([1, 2, 3]);
    expect(begun.map(({ items }) => items)).toEqual([[1, 2], [3]]);
  });

  it('that fail, or answer too little, fail their own callers and no others', async () => {
    const answers = [async () => Promise.reject(new Error('no')), async () => [], async () => [7]];
    const batches = new Batches<number, number>({
      most: 1,
      perform: async () => answers.shift()!(),
    });
    const all = await Promise.allSettled([batches.add(1), batches.add(2), batches.add(3)]);
    expect(all.map((each) => (each.status === 'fulfilled' ? each.value : String(each.reason)))).toEqual([
      'Error: no',
      'Error: a batch was only partly answered',
      7,
    ]);
  });

  it('of which one item can’t be done fail that one alone where they are told to', async () => {
    const batches = new Batches<number, number>({
      most: 10,
      tries_alone: (error) => String(error) === 'Error: bad',
      perform: async (items) => (items.includes(2) ? Promise.reject(new Error('bad')) : items),
    });
    const all = await Promise.allSettled([1, 2, 3].map(async (n) => batches.add(n)));
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});

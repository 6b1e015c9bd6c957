import { expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import { CompanyPlaces } from './company-places.ts';

it('a company with all of its places taken is named until one is free again, the others are not', async () => {
  const places = new CompanyPlaces({ all: 4, ofOne: 2 });
  const [first, second, third] = [1, 2, 3].map(() => Promise.withResolvers<void>());
  places.begin('a', async () => first!.promise);
  expect([places.free, places.full()]).toEqual([3, []]);
  places.begin('a', async () => second!.promise);
  places.begin('b', async () => third!.promise);
  expect([places.free, places.full()]).toEqual([1, ['a']]);
  first!.resolve();
  await waitFor(() => places.free === 2);
  expect(places.full()).toEqual([]);
  let settled = false;
  const all = places.settled().then(() => (settled = true));
  second!.resolve();
  await second!.promise;
  expect(settled).toBe(false);
  third!.resolve();
  await all;
  expect(places.free).toBe(4);
});

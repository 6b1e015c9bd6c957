import { expect, it } from '@jest/globals';
import { newId } from '@acp/kernel';
import { cloneDatabase } from '@acp/testkit';
import { knowsStorageMarker } from './index.ts';

it('the first folder that is told becomes the instance’s; another one is not it; a look remembers nothing', async () => {
  const { database } = await cloneDatabase('marker');
  const [looked, first, other] = [newId(), newId(), newId()];
  expect(await knowsStorageMarker(database.db, looked, { remember: false })).toBe(true);
  const told = await Promise.all([1, 2, 3].map(async () => knowsStorageMarker(database.db, first)));
  expect(told).toEqual([true, true, true]);
  expect(await knowsStorageMarker(database.db, other)).toBe(false);
  expect(await knowsStorageMarker(database.db, looked, { remember: false })).toBe(false);
  expect(await knowsStorageMarker(database.db, first)).toBe(true);
});

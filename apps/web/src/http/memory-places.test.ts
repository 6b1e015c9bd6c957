import { expect, it } from '@jest/globals';
import { MemoryPlaces } from './memory-places.ts';

const refusal = expect.objectContaining({ kind: 'rate_limited' });

it('room for bodies is limited per owner and in total, and comes back', () => {
  const places = new MemoryPlaces({ all: 100, ofOne: 40 });
  const back = [places.take('a', 30), places.take('b', 40)];
  expect(() => places.take('a', 11)).toThrow(refusal);
  expect(() => places.take('c', 31)).toThrow(refusal);
  back.push(places.take('a', 10));
  // Twice gives nothing back that was not taken.
  back[1]!();
  back[1]!();
  places.take('c', 40)();
  for (const each of [back[0], back[2]]) each!();
  for (let count = 0; count < 3; count += 1) places.take('a', 40)();
});

it('a body that is larger than all the room is taken alone', () => {
  const places = new MemoryPlaces({ all: 100, ofOne: 40 });
  const back = places.take('a', 500);
  for (const owner of ['a', 'b']) expect(() => places.take(owner, 1)).toThrow(refusal);
  back();
  places.take('b', 1)();
});

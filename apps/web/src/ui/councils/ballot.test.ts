import { expect, it } from '@jest/globals';
import { withoutBallot } from './ballot.ts';

it('a ballot is left out, and the rest stays', () => {
  expect(withoutBallot('A is best.\n**RANKING: A > B**\nThat is all.')).toBe('A is best.\nThat is all.');
  expect(withoutBallot('No ranking here')).toBe('No ranking here');
});

it.each(['\n', '\r', '\u2028', ' \n', '*', 'RANKIN\n'])(
  'a text that repeats %j is searched in linear time',
  (part) => {
    expect(withoutBallot(part.repeat(200_000))).toHaveLength(part.length * 200_000);
  },
);

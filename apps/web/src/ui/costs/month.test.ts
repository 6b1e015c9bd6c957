import { describe, expect, it } from '@jest/globals';
import { monthOf, neighbours } from './month.ts';

const now = new Date('2026-02-28T23:59:59Z');

describe('a month of the costs', () => {
  it('has its days, and ends where the next begins', () => {
    const { from, to, name, days } = monthOf('2024-02', now);
    expect({ from, to, name }).toEqual({ from: '2024-02-01', to: '2024-03-01', name: 'February 2024' });
    expect([days.length, days.at(0), days.at(-1)]).toEqual([29, '2024-02-01', '2024-02-29']);
  });

  it.each([undefined, '', '2026-13', '2026-2', '1999-01', '2026-03', "2026-01'"])(
    'asked for as %j is the present one',
    (asked) => expect(monthOf(asked, now).key).toBe('2026-02'),
  );

  it('stands between its neighbours, also at the turn of a year', () => {
    const { before, after } = neighbours(monthOf('2026-01', now));
    expect([before.key, after.key]).toEqual(['2025-12', '2026-02']);
    expect(neighbours(before).after.key).toBe('2026-01');
  });
});

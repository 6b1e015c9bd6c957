import { expect, it, jest } from '@jest/globals';
import { assertZone } from './time-zones.ts';

it('a zone is kept once, however it is spelt: nobody fills the memory with spellings', () => {
  const made = jest.spyOn(Intl, 'DateTimeFormat');
  for (const zone of ['Europe/Tallinn', 'EUROPE/TALLINN', 'europe/tallinn', 'eUrOpE/tAlLiNn'])
    expect(assertZone(zone)).toBe(zone);
  expect(made).toHaveBeenCalledTimes(1);
  made.mockRestore();
});

import { describe, expect, it } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { conflict, explainError, isFromOutside, unavailable } from './index.ts';

const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
const refused = Object.assign(new Error('connect ECONNREFUSED ::1:1'), { code: 'ECONNREFUSED' });
const ofBoth = Object.assign(new AggregateError([refused, full]), { code: 'ECONNREFUSED' });
const wrapped = new Error(`Failed query: select $1\nparams: secret`, { cause: refused });

describe('an error in words for operators', () => {
  it.each([
    [conflict('the database is not empty'), 'the database is not empty', false],
    [unavailable('storage unavailable', full), `storage unavailable: ${full.message}`, true],
    [
      unavailable('broken off', unavailable('storage unavailable', full)),
      `broken off: ${full.message}`,
      true,
    ],
    [wrapped, refused.message, true],
    [ofBoth, refused.message, true],
    [new TypeError('x is not a function'), 'TypeError: x is not a function', false],
    ['torn', 'torn', false],
  ])('%p', (error, words, outside) => {
    expect(explainError(error)).toBe(words);
    expect(isFromOutside(error)).toBe(outside);
  });

  it('tells our mistakes in calling Node.js from failures of the system', async () => {
    const mistake: unknown = await rm(7 as never).catch((error: unknown) => error);
    expect(isFromOutside(mistake)).toBe(false);
    const failure: unknown = await rm('/nowhere/at/all').catch((error: unknown) => error);
    expect(isFromOutside(failure)).toBe(true);
  });
});

import { describe, expect, it } from '@jest/globals';
import { StatementNames } from './statement-names.ts';

describe('names of statements', () => {
  it('a text comes again: it has one name from then on', () => {
    const names = new StatementNames();
    expect(names.nameOf('select 1')).toBeUndefined();
    expect(names.nameOf('select 1')).toBe('s1');
    expect(names.nameOf('select 1')).toBe('s1');
  });

  it('texts come once each: none gets a name', () => {
    const names = new StatementNames();
    for (let n = 0; n < 10_000; n += 1) expect(names.nameOf(`select ${n}`)).toBeUndefined();
  });

  it('more texts come again than sessions should hold: the first ones keep their names', () => {
    const names = new StatementNames();
    for (let n = 0; n < 1000; n += 1) {
      names.nameOf(`select ${n}`);
      names.nameOf(`select ${n}`);
    }
    expect(names.nameOf('select 0')).toBe('s1');
    expect(names.nameOf('select 999')).toBeUndefined();
  });
});

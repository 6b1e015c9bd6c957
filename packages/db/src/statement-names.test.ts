import { describe, expect, it } from '@jest/globals';
import { OFTEN, StatementNames } from './statement-names.ts';

const ask = (names: StatementNames, text: string, times: number): (string | undefined)[] =>
  Array.from({ length: times }, () => names.nameOf(text));

describe('names of statements', () => {
  it('a text comes often: it has one name from then on', () => {
    const names = new StatementNames();
    const asked = ask(names, 'select 1', 2 * OFTEN);
    expect(new Set(asked.slice(0, OFTEN - 1))).toEqual(new Set([undefined]));
    expect(new Set(asked.slice(OFTEN - 1))).toEqual(new Set(['s1']));
  });

  it('a text comes now and then: it gets no name, and one when it comes often again', () => {
    let now = 0;
    const names = new StatementNames(OFTEN, () => now);
    for (let n = 0; n < 1000; n += 1) {
      expect(names.nameOf('select 1')).toBeUndefined();
      now += 4000;
    }
    now += 60_000;
    expect(ask(names, 'select 1', OFTEN).at(-1)).toBe('s1');
  });

  it('texts come once each: none gets a name', () => {
    const names = new StatementNames();
    for (let n = 0; n < 10_000; n += 1) expect(names.nameOf(`select ${n}`)).toBeUndefined();
  });

  it('more texts come often than sessions should hold: the first ones keep their names', () => {
    const names = new StatementNames();
    for (let n = 0; n < 1000; n += 1) ask(names, `select ${n}`, OFTEN);
    expect(names.nameOf('select 0')).toBe('s1');
    expect(names.nameOf('select 999')).toBeUndefined();
  });
});

import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, jest } from '@jest/globals';
import { compareRounds, readFigures } from './comparison.ts';
import { Report } from './report.ts';

/** A line as printed in a report. */
const line = (name: string, value: string, aim = ''): string =>
  `  ${name.padEnd(44)} ${value.padStart(14)}  ${aim}`;

const rounds = (values: readonly number[], aim = 'aim ≤ 5 ms, met') =>
  values.map((value) => readFigures(line('a figure', `${value} ms`, aim)));

describe('figures that a run has printed', () => {
  it('are read with unit and aim; all other lines are passed over', () => {
    const output = [
      'node v24, 4 × a processor, embedded PostgreSQL',
      '(a) API',
      line('get an issue, of bare Express', '79 %', 'aim ≥ 80 %, MISSED'),
      '    10 s with 16 connections  of 2 cores',
      line('a name that is longer than the forty-four characters of its column', '0.42 ms'),
      line('requests', '6888 requests/s', 'aim ≥ 5000 requests/s, met'),
      '3 of 4 aims met',
      '  missed: get an issue, 79 %',
    ].join('\n');
    expect([...readFigures(output)]).toEqual([
      ['get an issue, of bare Express', { value: 79, unit: '%', better: 'more' }],
      [
        'a name that is longer than the forty-four characters of its column',
        { value: 0.42, unit: 'ms', better: undefined },
      ],
      ['requests', { value: 6888, unit: 'requests/s', better: 'more' }],
    ]);
  });
});

it('a figure without a unit, such as a number of statements, is read as well', () => {
  const printed: unknown[] = [];
  const said = jest.spyOn(console, 'log').mockImplementation((text) => void printed.push(text));
  const report = new Report();
  report.add({ name: 'statements: a list', value: 12, unit: '', aim: { at_most: 3 }, conditions: 'a' });
  report.add({ name: 'statements: p99 of 500 readers', value: 1.5, unit: '', conditions: 'b' });
  report.add({ name: 'frames of 500 readers', value: 7, unit: 'ms', conditions: 'c' });
  said.mockRestore();
  expect([...readFigures(stripVTControlCharacters(printed.join('\n')))]).toEqual([
    ['statements: a list', { value: 12, unit: '', better: 'less' }],
    ['statements: p99 of 500 readers', { value: 1.5, unit: '', better: undefined }],
    ['frames of 500 readers', { value: 7, unit: 'ms', better: undefined }],
  ]);
});

describe('two checkouts in rounds', () => {
  const verdict = (here: readonly number[], there: readonly number[], aim?: string) =>
    compareRounds(rounds(here, aim), rounds(there, aim))[0]!.verdict;

  it.each([
    ['a tenth less of what is to be little', [9, 9.1, 8.9, 9], [10, 10.1, 9.9, 10], 'better'],
    ['a tenth more of it', [11, 11.1, 10.9, 11], [10, 10.1, 9.9, 10], 'worse'],
    ['the same, but for noise', [10, 10.2, 9.9, 10.1], [10.1, 10, 10, 10.1], 'same'],
    ['a hundredth, however sure', [10.1, 10.1, 10.1, 10.11], [10, 10, 10, 10], 'same'],
    ['more noise than anything', [5, 20, 8, 14], [10, 9, 16, 7], 'unknown'],
    ['one round only', [5], [10], 'unknown'],
    ['the machine drifts, and both with it', [5, 10, 20, 40], [10, 20, 40.4, 80], 'better'],
    ['nothing at all', [0, 0], [0, 0], 'same'],
  ] as const)('%s', (_what, here, there, expected) => {
    expect(verdict(here, there)).toBe(expected);
  });

  it('more of what is to be much is better; without an aim it is more', () => {
    expect(verdict([11, 11, 11.1], [10, 10, 10], 'aim ≥ 5 ms, met')).toBe('better');
    expect(verdict([11, 11, 11.1], [10, 10, 10], '')).toBe('more');
  });

  it('a further round never makes the interval claim more than Student’s table allows', () => {
    const spread = (count: number) => {
      const alternating = Array.from({ length: count }, (_, n) => (n % 2 === 0 ? 9 : 11));
      const [one] = compareRounds(rounds(alternating), rounds(alternating.map(() => 10)));
      const logs = alternating.map((value) => Math.log(value / 10));
      const mean = logs.reduce((sum, each) => sum + each) / count;
      const deviation = Math.sqrt(logs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (count - 1));
      return (Math.log(one!.ratio!.high) - mean) / (deviation / Math.sqrt(count));
    };
    expect(spread(14)).toBeCloseTo(2.16);
    // 2.145 at 14 degrees of freedom, 2.042 at 30.
    expect(spread(15)).toBeGreaterThanOrEqual(2.14);
    expect(spread(31)).toBeGreaterThanOrEqual(2.04);
  });

  it('the bounds hold the ratio; what one of them has not is left out', () => {
    const both = compareRounds(
      [...rounds([9, 9.2, 9.1])],
      [...rounds([10, 10, 10])].map((round) => new Map([...round, ['new', [...round.values()][0]!]])),
    );
    expect(both).toHaveLength(1);
    const { low, middle, high } = both[0]!.ratio!;
    expect([low < middle, middle < high, Math.abs(middle - 0.91) < 0.001]).toEqual([true, true, true]);
  });
});

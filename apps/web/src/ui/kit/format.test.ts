import { describe, expect, it } from '@jest/globals';
import {
  duration,
  exactTime,
  exactTimeTo,
  fileSize,
  firstWords,
  money,
  timeAgo,
  timeLeft,
  words,
} from './format.ts';
import { inLanguage } from './language.ts';
import { catalogueOf } from './languages.ts';

const NOW = Date.parse('2026-03-31T12:00:00Z');
const text = (html: string): string => html.replaceAll(/<[^>]+>/g, '').trim();

describe('an instant', () => {
  it.each([
    ['2026-03-31T11:59:55Z', 'just now'],
    ['2026-03-31T11:57:00Z', '3 min ago'],
    ['2026-03-31T09:30:00Z', '2 h ago'],
    ['2026-03-03T12:00:00Z', '28 d ago'],
    ['2026-02-14T12:00:00Z', '2026-02-14'],
  ])('%s is read as %s, and exact on hover', (instant, expected) => {
    const html = timeAgo(instant, NOW);
    expect(text(html)).toBe(expected);
    expect(html).toContain(`title="${instant.replace('T', ' ').replace('Z', '')} UTC"`);
  });

  it.each([
    ['2026-04-04T12:30:00Z', '4 d left'],
    ['2026-04-03T11:59:58Z', '72 h left'],
    ['2026-04-02T12:30:00Z', '49 h left'],
    ['2026-03-31T12:00:05Z', 'ends now'],
  ])('to come, %s, is read as %s', (instant, expected) => {
    expect(text(timeLeft(instant, NOW))).toBe(expected);
  });

  it('that never was is said so', () => {
    expect(text(timeAgo(null))).toBe('never');
  });
});

it.each([
  [0, '$0.00'],
  [12.3456, '$12.35'],
  [0.00123456, '$0.0012'],
  [0.00000012, '$0.00000012'],
  [0.01, '$0.01'],
  [1234567.891, '$1,234,567.89'],
])('%d USD are read as %s, with all digits on hover', (usd, expected) => {
  expect(text(money(usd))).toBe(expected);
  expect(money(usd)).toContain(`title="$${usd.toFixed(8)}"`);
});

it.each([
  ['in_progress', 'in progress'],
  ['qa', 'QA'],
  ['devops', 'DevOps'],
  ['llm', 'LLM'],
])('the value %s is read as %s', (value, expected) => {
  expect(words(value)).toBe(expected);
});

it.each([
  [312, '312 B'],
  [11_481, '11.5 kB'],
  [2_000_000, '2.0 MB'],
  [4_123_481_223, '4.1 GB'],
])('%d bytes are read as %s', (bytes, expected) => {
  expect(fileSize(bytes)).toBe(expected);
});

it.each([
  [1.44, '1.4 s'],
  [59.96, '1 min 0 s'],
  [125, '2 min 5 s'],
  [179.6, '3 min 0 s'],
  [3599.6, '1 h 0 min'],
  [7199, '2 h 0 min'],
  [100_000, '27 h 47 min'],
])('%d seconds are read as %s', (seconds, expected) => {
  expect(duration(new Date(NOW), new Date(NOW + seconds * 1000))).toBe(expected);
});

describe('where the exact time matters', () => {
  const inBerlin = <T>(work: () => T): T => inLanguage(null, work, { zone: 'Europe/Berlin' });
  const read = (html: string): string => text(html).replaceAll(/\s+/g, ' ');

  it('is shown with its zone: the reader’s, or UTC', () => {
    expect(read(exactTime('2026-03-31T11:57:00Z', NOW))).toBe('3 min ago · 31 Mar, 11:57:00 UTC');
    expect(inBerlin(() => read(exactTime('2026-03-31T11:57:00Z', NOW)))).toBe(
      '3 min ago · 31 Mar, 13:57:00 CEST',
    );
    expect(inBerlin(() => read(exactTimeTo('2099-01-01T11:57:00Z')))).toMatch(
      /^in \d+ d · 1 Jan 2099, 12:57 CET$/,
    );
  });

  it('long ago, the clock alone says it', () => {
    expect(inBerlin(() => read(exactTime('2026-01-01T23:30:00Z', NOW)))).toBe('2 Jan 2026, 00:30:00 CET');
    expect(read(exactTime(null))).toBe('never');
  });

  it('another language has its own names of months and zones', () => {
    const said = inLanguage(catalogueOf('de'), () => read(exactTime('2026-03-31T11:57:00Z', NOW)), {
      zone: 'Europe/Berlin',
    });
    expect(said).toBe('vor 3 min · 31. März, 13:57:00 MESZ');
  });
});

it('the first words of a megabyte cost no more than those of a line', () => {
  expect(firstWords('# *One*  line\nand `more`', 13)).toBe('One line and…');
  const { user: began } = process.cpuUsage();
  for (let times = 0; times < 60; times += 1) expect(firstWords('*a '.repeat(320_000), 3)).toBe('a a…');
  expect((process.cpuUsage().user - began) / 1000).toBeLessThan(1000);
});

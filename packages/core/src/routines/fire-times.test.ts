import { describe, expect, it } from '@jest/globals';
import { nextFireTimes } from './fire-times.ts';

const fires = (expression: string, zone: string, from: string, count: number) =>
  nextFireTimes(expression, zone, new Date(from), count).map((time) => time.toISOString().slice(0, 16));

describe('a schedule', () => {
  it.each([
    ['30 2 * * *', 'late by the missing hour', ['2026-03-28T01:30', '2026-03-29T01:30', '2026-03-30T00:30']],
    ['0 3 * * *', 'just after the gap', ['2026-03-28T02:00', '2026-03-29T01:00', '2026-03-30T01:00']],
    // 02:00 and 02:30 are delayed, and then coincide with 03:00 and 03:30.
    ['0,30 2-3 29 3 *', 'once an instant', ['2026-03-29T01:00', '2026-03-29T01:30', '2027-03-29T00:00']],
    ['10 2,3 29 3 *', 'in order', ['2026-03-29T01:10', '2027-03-29T00:10', '2027-03-29T01:10']],
  ])('%s in Berlin, clocks go forward: %s', (expression, _how, expected) => {
    expect(fires(expression, 'Europe/Berlin', '2026-03-28T00:00Z', 3)).toEqual(expected);
  });

  it.each([
    ['30 2 * * *', 'once', ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['15,45 2 * * *', 'both of the first pass', ['2026-10-25T00:15', '2026-10-25T00:45', '2026-10-26T01:15']],
    ['0 * * * *', 'every hour that passes', ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00']],
    [
      '*/30 * * * *',
      'evenly',
      ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
    ],
  ])('%s in Berlin, clocks go back: %s', (expression, _how, expected) => {
    expect(fires(expression, 'Europe/Berlin', '2026-10-24T23:30Z', expected.length)).toEqual(expected);
  });

  it('fired in the first of two equal hours does not fire in the second', () => {
    expect(fires('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:30Z', 1)).toEqual(['2026-10-26T01:30']);
    expect(fires('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10Z', 1)).toEqual(['2026-10-26T01:30']);
    expect(fires('30 * * * *', 'Europe/Berlin', '2026-10-25T01:10Z', 1)).toEqual(['2026-10-25T01:30']);
  });

  it.each([
    // Half an hour is skipped: 02:00 becomes 02:30 there on that day.
    ['0 2 * * *', 'Australia/Lord_Howe', '2026-10-02T20:00Z', ['2026-10-03T15:30', '2026-10-04T15:00']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-03T20:00Z', ['2026-04-04T14:45', '2026-04-05T15:15']],
    // Midnight itself is skipped; in autumn it is 23:00 that is repeated.
    ['0 0 * * *', 'Africa/Cairo', '2026-04-23T00:00Z', ['2026-04-23T22:00', '2026-04-24T21:00']],
    ['0 0 * * *', 'Africa/Cairo', '2026-10-28T22:00Z', ['2026-10-29T22:00', '2026-10-30T22:00']],
    ['30 2 * * 0', 'America/New_York', '2026-03-07T00:00Z', ['2026-03-08T07:30', '2026-03-15T06:30']],
    ['30 1 1 11 *', 'America/New_York', '2026-10-31T00:00Z', ['2026-11-01T05:30', '2027-11-01T05:30']],
    ['0 9 * * 1', 'Asia/Kolkata', '2026-11-20T00:00Z', ['2026-11-23T03:30', '2026-11-30T03:30']],
    ['0 0 29 2 *', 'UTC', '2026-01-01T00:00Z', ['2028-02-29T00:00', '2032-02-29T00:00']],
    ['59 23 31 12 *', 'Pacific/Kiritimati', '2026-01-01T00:00Z', ['2026-12-31T09:59', '2027-12-31T09:59']],
    // With both a day of the month and a day of the week restricted, either one matches.
    ['0 0 13 * fri', 'UTC', '2026-11-01T00:00Z', ['2026-11-06T00:00', '2026-11-13T00:00']],
  ])('%s in %s fires at the times of the place', (expression, zone, from, expected) => {
    expect(fires(expression, zone, from, expected.length)).toEqual(expected);
  });

  it('of years and zones agrees with a clock that is read every minute around each change', () => {
    const zones = [
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Africa/Cairo',
      'America/St_Johns',
    ];
    const expressions = [
      '*/20 * * * *',
      '5 */2 * * *',
      '*/15 1-3 * * *',
      '0,30 0,2 * * *',
      '10 0 * * *',
      '59 23 * * 0,6',
    ];
    for (const zone of zones) {
      for (const change of changesOf(zone, 2026)) {
        const [from, to] = [change - 30 * 3_600_000, change + 30 * 3_600_000];
        for (const expression of expressions) {
          const expected = byTheClock(expression, zone, from, to);
          const times = nextFireTimes(expression, zone, new Date(from), expected.length + 1);
          const label = `${expression} ${zone} ${new Date(change).toISOString()}`;
          expect([label, times.slice(0, -1).map(Number)]).toEqual([label, expected]);
          expect(times.at(-1)!.getTime()).toBeGreaterThan(to);
        }
      }
    }
  });

  it('is asked from each of its own times on: answers the next, and never the same', () => {
    const from = new Date('2026-10-24T12:00Z');
    const all = nextFireTimes('*/10 1-3 * * *', 'Europe/Berlin', from, 60);
    let at = from;
    for (const expected of all) {
      [at] = nextFireTimes('*/10 1-3 * * *', 'Europe/Berlin', at, 1) as [Date];
      expect(at).toEqual(expected);
    }
  });
});

describe('an expression', () => {
  it.each([
    '',
    '* * * *',
    '* * * * * *',
    '@daily',
    'H * * * *',
    '60 * * * *',
    '0 24 * * *',
    '0 0 0 * *',
    '0 0 32 * *',
    '0 0 * 13 *',
    '0 0 * * 8',
    '5-3 * * * *',
    '*/0 * * * *',
    '*/70 * * * *',
    '1,,2 * * * *',
    '-5 * * * *',
    '0 0 L * *',
    '0 0 ? * *',
    '0 0 * * 5L',
    '0 0 * * 1#2',
    '0 0 30 2 *',
    '0 mon * * *',
    '0 0 * mon *',
    '0 0 * * jan',
    '1.5 * * * *',
    '0x5 * * * *',
    '* * * * constructor',
    `${'0,'.repeat(90)}0 * * * * *`,
  ])('%j is refused', (expression) => {
    expect(() => nextFireTimes(expression, 'UTC', new Date(0), 1)).toThrow(
      expect.objectContaining({ kind: 'invalid', message: expect.stringMatching(/^cron_expression: /) }),
    );
  });

  it.each([
    '* * * * *',
    '  0   9 * *  1 ',
    '0 0 1 JAN *',
    '0 0 * * Mon-Fri',
    '0 0 * * 7',
    '5/15 * * * *',
    '1-5/2,30 * * * *',
  ])('%j is taken', (expression) => {
    expect(nextFireTimes(expression, 'UTC', new Date(0), 2)).toHaveLength(2);
  });
});

it.each(['Mars/Base', 'local', '+02:00', 'UTC+3', '', '__proto__', 'Europe/Berlin '])(
  'the zone %j is refused',
  (zone) => {
    expect(() => nextFireTimes('* * * * *', zone, new Date(0), 1)).toThrow('timezone: unknown time zone');
  },
);

const clocks = new Map<string, Intl.DateTimeFormat>();

/** A zone's wall clock, determined in another way than in the code. */
function shownAt(zone: string, instant: number) {
  const format =
    clocks.get(zone) ??
    new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      weekday: 'short',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    });
  clocks.set(zone, format);
  const parts = format.formatToParts(instant);
  const part = (type: string) => parts.find((each) => each.type === type)!.value;
  const weekday = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].indexOf(part('weekday'));
  return { day: Number(part('day')), hour: Number(part('hour')), minute: Number(part('minute')), weekday };
}

type Shown = ReturnType<typeof shownAt>;
const minuteOfDay = ({ hour, minute }: Shown) => hour * 60 + minute;

function changesOf(zone: string, year: number): number[] {
  const changes: number[] = [];
  for (let at = Date.UTC(year, 0, 1); at < Date.UTC(year + 1, 0, 1); at += 1_800_000) {
    const step = minuteOfDay(shownAt(zone, at + 1_800_000)) - minuteOfDay(shownAt(zone, at));
    if ((step + 1440) % 1440 !== 30) changes.push(at + 1_800_000);
  }
  return changes;
}

/** The fires in (from, to] by the documented rules: minute by minute, comparing with the previous clock reading. */
function byTheClock(expression: string, zone: string, from: number, to: number): number[] {
  const [minutes, hours, , , days] = expression.split(' ') as [string, string, string, string, string];
  const everyHour = hours.startsWith('*');
  const matches = ({ minute, hour, weekday }: Shown) =>
    fieldMatches(minutes, minute) && fieldMatches(hours, hour) && fieldMatches(days, weekday);
  const seen = new Set<string>();
  const found = new Set<number>();
  let previous = shownAt(zone, from - 7_200_000 - 60_000);
  for (let at = from - 7_200_000; at <= to; at += 60_000) {
    const now = shownAt(zone, at);
    const jump = (minuteOfDay(now) - minuteOfDay(previous) + 1440) % 1440;
    // Skipped minutes fire late, by the length of the gap.
    if (!everyHour && jump > 1 && jump < 720)
      for (let late = 1; late < jump; late += 1) {
        const total = minuteOfDay(previous) + late;
        const day = total >= 1440 ? now : previous;
        const skipped = { ...day, hour: Math.floor((total % 1440) / 60), minute: total % 60 };
        if (matches(skipped)) found.add(at + (late - 1) * 60_000);
      }
    const key = `${now.day} ${minuteOfDay(now)}`;
    if (matches(now) && (everyHour || !seen.has(key))) found.add(at);
    seen.add(key);
    previous = now;
  }
  return [...found].filter((at) => at > from && at <= to).toSorted((a, b) => a - b);
}

function fieldMatches(field: string, value: number): boolean {
  return field.split(',').some((item) => {
    const [range, step = '1'] = item.split('/') as [string, string?];
    if (range === '*') return value % Number(step) === 0;
    const [low, high = low] = range.split('-').map(Number) as [number, number?];
    return value >= low && value <= high;
  });
}

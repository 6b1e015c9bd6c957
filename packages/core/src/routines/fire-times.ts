/** Fire times of schedules: five cron fields on a zone's wall clock, across changes of the clock. Pure. */
import { assertZone, invalid, offsetAt, said } from '@acp/kernel';
import { type ParsedCron, parseCron } from '../settings/index.ts';

/** More than any zone's offset from UTC. */
const DAY_MS = 86_400_000;

/**
 * The next `count` fire times strictly after `from`, ascending. When clocks go forward, a skipped time of day fires late by the
 * length of the gap (02:30 becomes 03:30); when they go back, a repeated one fires the first time. An hour field that begins with
 * `*` follows elapsed time instead: nothing is made up for, and the repeated hour fires again.
 * @throws invalid for an invalid expression or time zone
 */
export function nextFireTimes(expression: string, zone: string, from: Date, count: number): Date[] {
  const cron = parseCron(expression);
  return firesAfter(cron, assertZone(zone), from.getTime(), count).map((instant) => new Date(instant));
}

/** The value stored as `next_fire_at`. */
export function nextFireTime(expression: string, zone: string, from: Date): Date {
  return nextFireTimes(expression, zone, from, 1)[0]!;
}

function firesAfter(cron: ParsedCron, zone: string, from: number, count: number): number[] {
  const walls = cron.after(new Date(firstWall(zone, from)));
  const found: number[] = [];
  // Around a change of the clock, instants do not follow the order of their wall times: they are kept here until the next wall
  // times are known to be later.
  let waiting: number[] = [];
  while (found.length < count) {
    const wall = nextWall(walls);
    const before = offsetAt(zone, wall - DAY_MS);
    const after = offsetAt(zone, wall + DAY_MS);
    const earliest = wall - Math.max(before, after);
    found.push(...waiting.filter((instant) => instant < earliest));
    waiting = waiting.filter((instant) => instant >= earliest);
    const instants = before === after ? [wall - before] : instantsAround(zone, wall, before, after, cron);
    const fresh = instants.filter((instant) => instant > from && !waiting.includes(instant));
    waiting = [...waiting, ...fresh].toSorted((a, b) => a - b);
  }
  return found.slice(0, count);
}

/** Where to start: the zone's wall clock at `from` or, near a change, earlier by the size of the change. */
function firstWall(zone: string, from: number): number {
  const before = offsetAt(zone, from - DAY_MS);
  const after = offsetAt(zone, from + DAY_MS);
  return from + Math.min(before, after) - (before === after ? 0 : Math.abs(before - after));
}

/** The instants at which clocks that change around then show the wall time, and which of them count. */
function instantsAround(
  zone: string,
  wall: number,
  before: number,
  after: number,
  cron: ParsedCron,
): number[] {
  const shown = [...new Set([wall - before, wall - after])]
    .filter((instant) => instant + offsetAt(zone, instant) === wall)
    .toSorted((a, b) => a - b);
  if (shown.length === 0) return cron.every_hour ? [] : [wall - before];
  return cron.every_hour ? shown : shown.slice(0, 1);
}

function nextWall(walls: ReturnType<ParsedCron['after']>): number {
  try {
    return walls.next().getTime();
  } catch (err) {
    throw invalid(said`cron_expression: ${err instanceof Error ? err.message : 'never fires'}`);
  }
}

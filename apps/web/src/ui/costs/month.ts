/** A calendar month in UTC, as named in the address of the cost pages. */
import { currentLocale } from '../kit/language.ts';

export interface Month {
  /** `2026-11`. */
  key: string;
  /** `November 2026`. */
  name: string;
  /** Its first day, and the first day after it. */
  from: string;
  to: string;
  days: readonly string[];
}

const LAST = 11;
const day = (date: Date): string => date.toISOString().slice(0, 10);
const firstOf = (year: number, index: number): Date => new Date(Date.UTC(year, index, 1));

function monthAt(year: number, index: number): Month {
  const [first, next] = [firstOf(year, index), firstOf(year, index + 1)];
  const length = Math.round((next.getTime() - first.getTime()) / 86_400_000);
  return {
    key: day(first).slice(0, 7),
    name: first.toLocaleDateString(currentLocale(), { month: 'long', year: 'numeric', timeZone: 'UTC' }),
    from: day(first),
    to: day(next),
    days: Array.from({ length }, (_, n) => day(new Date(first.getTime() + n * 86_400_000))),
  };
}

/** The month in the address; the current one if that is invalid or in the future. */
export function monthOf(asked: string | undefined, now: Date): Month {
  const present = monthAt(now.getUTCFullYear(), now.getUTCMonth());
  const [, year, month] = /^(20\d\d)-(0[1-9]|1[0-2])$/.exec(asked ?? '') ?? [];
  if (year === undefined || month === undefined) return present;
  const found = monthAt(Number(year), Number(month) - 1);
  return found.key > present.key ? present : found;
}

export function neighbours({ key }: Month): { before: Month; after: Month } {
  const [year, index] = [Number(key.slice(0, 4)), Number(key.slice(5)) - 1];
  return {
    before: index === 0 ? monthAt(year - 1, LAST) : monthAt(year, index - 1),
    after: index === LAST ? monthAt(year + 1, 0) : monthAt(year, index + 1),
  };
}

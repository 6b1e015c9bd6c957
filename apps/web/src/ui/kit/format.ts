/** Formats instants, money and numbers for people: short, and exact on hover. */
import { dollars, written } from '@acp/kernel';
import { html, type Html } from './html.ts';
import { clockTime } from './clock-time.ts';
import { currentLocale, translateValue, t } from './language.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** Seconds that still count as now. */
const NOW = 10;

/** Beyond this, the date says more than the number of days. */
const LONG_AGO = 30 * DAY;

/** `3 min ago`, or the date if long ago; the exact instant in UTC on hover, and as data for the script that keeps it fresh. */
export function timeAgo(instant: Date | string | null, now = Date.now()): Html {
  if (instant === null) return html`<span class="soft">never</span>`;
  const date = new Date(instant);
  return html`<time datetime="${date.toISOString()}" title="${utc(date)}"
    >${readable(date, (now - date.getTime()) / 1000)}</time
  >`;
}

const readable = (date: Date, seconds: number): string =>
  seconds < LONG_AGO ? ago(seconds) : date.toISOString().slice(0, 10);

function ago(seconds: number): string {
  return seconds < NOW ? t`just now` : t`${span(seconds)} ago`;
}

/** `3 min ago · 28 Nov, 10:24:05 CET`: where the exact time matters, in the reader's time zone. */
export function exactTime(instant: Date | string | null, now = Date.now()): Html {
  if (instant === null) return timeAgo(null);
  const date = new Date(instant);
  if (now - date.getTime() < LONG_AGO * 1000)
    return html`!${timeAgo(date, now)} !${onClock(date, now, { second: '2-digit' })}`;
  return html`<time datetime="${date.toISOString()}" title="${utc(date)}">${clockTime(date)}</time>`;
}

/** `in 3 h · 28 Nov, 13:00 CET`, for a future event. */
export const exactTimeTo = (instant: Date | string, now = Date.now()): Html =>
  html`!${timeTo(instant, now)} !${onClock(new Date(instant), now)}`;

/** The year is said if it is another. */
function onClock(date: Date, now: number, parts: Intl.DateTimeFormatOptions = {}): Html {
  const year = date.getUTCFullYear() === new Date(now).getUTCFullYear() ? undefined : 'numeric';
  return html`<span class="soft small">· ${clockTime(date, { parts: { ...parts, year } })}</span>`;
}

/** `23 December 2026`, in UTC. */
export const writtenDay = (instant: Date | string): string =>
  new Date(instant).toLocaleDateString(currentLocale(), { dateStyle: 'long', timeZone: 'UTC' });

/** `Nov 21`, of a day like `2026-11-21`. */
export const shortDay = (day: string): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString(currentLocale(), {
    month: 'short',
    day: 'numeric',
    timeZone: 'UTC',
  });

/** `3 d left` until a future instant; exact on hover. No `datetime`: the script counts up from past instants. */
export function timeLeft(instant: Date | string, now = Date.now()): Html {
  const seconds = secondsUntil(instant, now);
  return html`<span title="until ${utc(new Date(instant))}"
    >${seconds < NOW ? t`ends now` : t`${remaining(seconds)} left`}</span
  >`;
}

/** `in 3 h`, for a future event; exact on hover. */
export function timeTo(instant: Date | string, now = Date.now()): Html {
  const seconds = secondsUntil(instant, now);
  return html`<span title="${utc(new Date(instant))}"
    >${seconds < NOW ? t`now` : t`in ${span(seconds)}`}</span
  >`;
}

/** Below three days in hours, so that a term of 72 h that has just begun is not two days. */
const remaining = (seconds: number): string =>
  seconds > DAY && seconds <= 3 * DAY ? t`${Math.ceil(seconds / HOUR)} h` : span(seconds);

const secondsUntil = (instant: Date | string, now: number): number =>
  (new Date(instant).getTime() - now) / 1000;

/** `3 h`: in the largest unit that fits. */
export function span(seconds: number): string {
  if (seconds < MINUTE) return t`${Math.floor(seconds)} s`;
  if (seconds < HOUR) return t`${Math.floor(seconds / MINUTE)} min`;
  if (seconds < DAY) return t`${Math.floor(seconds / HOUR)} h`;
  return t`${Math.floor(seconds / DAY)} d`;
}

const utc = (date: Date): string => t`${date.toISOString().replace('T', ' ').slice(0, 19)} UTC`;

/** `312 B`, `4.1 kB`, `2.0 MB`, `1.3 GB`. */
export function fileSize(bytes: number): string {
  if (bytes < 1000) return t`${bytes} B`;
  if (bytes < 1_000_000) return t`${tenths(bytes / 1000)} kB`;
  return bytes < 1_000_000_000 ? t`${tenths(bytes / 1_000_000)} MB` : t`${tenths(bytes / 1_000_000_000)} GB`;
}

/** `25 MB`: rounded down, so that a limit is never more than what is accepted. */
export function sizeLimit(bytes: number): string {
  const tenth = (value: number) => written(Math.floor(value * 10) / 10, currentLocale());
  return bytes < 1_000_000 ? t`${tenth(bytes / 1000)} kB` : t`${tenth(bytes / 1_000_000)} MB`;
}

/** `1.4 s`, `2 min 5 s`, `3 h 20 min`. */
export function duration(from: Date | string | null, to: Date | string | null): string {
  if (from === null || to === null) return '';
  const seconds = (new Date(to).getTime() - new Date(from).getTime()) / 1000;
  // Rounded before it is split: there is no sixtieth second.
  if (Math.round(seconds * 10) < MINUTE * 10) return t`${tenths(seconds)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.round(seconds / MINUTE);
  if (whole >= HOUR) return t`${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return t`${Math.floor(whole / MINUTE)} min ${whole % MINUTE} s`;
}

/** `$0.12`; all digits on hover. */
export function money(amount: number): Html {
  const exact = written(amount, currentLocale(), EXACT_DOLLARS);
  return html`<span class="number" title="${exact}">${usd(amount)}</span>`;
}

const EXACT_DOLLARS: Intl.NumberFormatOptions = {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 8,
  maximumFractionDigits: 8,
  useGrouping: false,
};

/** The same as plain text, for places without HTML. */
export const usd = (amount: number): string => dollars(amount, currentLocale());

/** The number of what was counted no further than beyond `most`. */
export const countUpTo = (most: number, value: number): string =>
  value > most ? `${count(most)}+` : count(value);

/** `12,345`; `1.2 M` from a million on. */
export function count(value: number): string {
  return value >= 1_000_000 ? t`${tenths(value / 1_000_000)} M` : written(value, currentLocale());
}

/** `in_progress` in readable form. */
export const words = translateValue;

const tenths = (value: number): string =>
  written(value, currentLocale(), { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Of a text that may be a megabyte long: what makes up the first line is in it, with all the marks that are left out. */
const BEGINNING = 4000;

/** The beginning of Markdown as one line of plain text. */
export function firstWords(markdown: string, most?: number): string {
  const line = markdown
    .slice(0, BEGINNING)
    .replaceAll(/[*_\u0060#>]+/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return clipped(line, most);
}

export const clipped = (line: string, most = 80): string =>
  line.length > most ? `${line.slice(0, most).toWellFormed().trimEnd()}…` : line;

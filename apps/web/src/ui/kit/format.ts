/** How instants, money and numbers are read by people: short, and exact on hover. */
import { html, type Html } from './html.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** After so many days the date says more than their number. */
const LONG_AGO = 30 * DAY;

/** `3 min ago`, or the day where that is long ago; the exact instant in UTC on hover, and as data for the script that keeps it fresh. */
export function timeAgo(instant: Date | string | null, now = Date.now()): Html {
  if (instant === null) return html`<span class="soft">never</span>`;
  const date = new Date(instant);
  return html`<time datetime="${date.toISOString()}" title="${utc(date)}"
    >${readable(date, (now - date.getTime()) / 1000)}</time
  >`;
}

const readable = (date: Date, seconds: number): string =>
  seconds < LONG_AGO ? ago(seconds) : date.toISOString().slice(0, 10);

export function ago(seconds: number): string {
  if (seconds < 10) return 'just now';
  if (seconds < MINUTE) return `${Math.floor(seconds)} s ago`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ago`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h ago`;
  return `${Math.floor(seconds / DAY)} d ago`;
}

/** `2 d left`, of an instant to come; exact on hover. No `datetime`: the script counts up from those that are past. */
export function timeLeft(instant: Date | string, now = Date.now()): Html {
  const left = spanUntil(instant, now);
  return html`<span title="until ${utc(new Date(instant))}"
    >${left === '' ? 'ends now' : `${left} left`}</span
  >`;
}

/** `in 3 h`, of what is going to happen; exact on hover. */
export function timeTo(instant: Date | string, now = Date.now()): Html {
  const left = spanUntil(instant, now);
  return html`<span title="${utc(new Date(instant))}">${left === '' ? 'now' : `in ${left}`}</span>`;
}

const spanUntil = (instant: Date | string, now: number): string =>
  span((new Date(instant).getTime() - now) / 1000);

/** `3 h`; nothing where it is next to nothing. */
export const span = (seconds: number): string => ago(seconds).replace(/ ago$|^just now$/, '');

const utc = (date: Date): string => `${date.toISOString().replace('T', ' ').slice(0, 19)} UTC`;

/** `312 B`, `4.1 kB`, `2.0 MB`. */
export function fileSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `1.4 s`, `2 min 5 s`. */
export function duration(from: Date | string | null, to: Date | string | null): string {
  if (from === null || to === null) return '';
  const seconds = (new Date(to).getTime() - new Date(from).getTime()) / 1000;
  if (seconds < MINUTE) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / MINUTE)} min ${Math.round(seconds % MINUTE)} s`;
}

/** `$0.12`; small amounts keep two significant digits, all of them on hover. */
export function money(amount: number): Html {
  return html`<span class="number" title="$${amount.toFixed(8)}">${usd(amount)}</span>`;
}

/** The same where there is only text. */
export function usd(amount: number): string {
  const cents = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  if (amount === 0 || amount >= 0.1) return `$${amount.toLocaleString('en-US', cents)}`;
  // Below that it would be written with an exponent.
  return `$${amount >= 0.000_001 ? amount.toPrecision(2) : amount.toFixed(8)}`;
}

/** `12,345`; `1.2 M` from a million on. */
export function count(value: number): string {
  return value >= 1_000_000 ? `${(value / 1_000_000).toFixed(1)} M` : value.toLocaleString('en-US');
}

/** `in_progress` as people read it. */
export function words(value: string): string {
  return value.replaceAll('_', ' ');
}

/** Of Markdown, as one line of plain words. */
export function firstWords(markdown: string, most?: number): string {
  const line = markdown
    .replaceAll(/[*_\u0060#>]+/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return clipped(line, most);
}

export const clipped = (line: string, most = 80): string =>
  line.length > most ? `${line.slice(0, most).toWellFormed().trimEnd()}…` : line;

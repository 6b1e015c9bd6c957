/** Time zones by IANA name. */
import { invalid } from './errors.ts';
import { said } from './said.ts';

// Creating a formatter costs far more than using it. Keyed by lower-case name: the platform knows about 600, including
// aliases, in any case.
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Names only: an offset such as `+02:00` has no daylight saving time. */
const nameShape = /^[A-Za-z][A-Za-z0-9_+\-/]*$/;

/** Returns the name. @param field for the message @throws invalid for a name that the platform does not know */
export function assertZone(zone: string, field = 'timezone'): string {
  formatterOf(zone, field);
  return zone;
}

/** The zone's offset from UTC at an instant, in milliseconds; positive east of Greenwich. */
export function offsetAt(zone: string, instant: number): number {
  // `1/1/2026, GMT+05:30`; plain `GMT` is UTC itself, and historical offsets include seconds.
  const text = formatterOf(zone, 'timezone').format(instant);
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text);
  if (match?.[1] === undefined) return 0;
  const [, sign, hours, minutes, seconds = '0'] = match;
  const magnitude = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000;
  return sign === '-' ? -magnitude : magnitude;
}

function formatterOf(zone: string, field: string): Intl.DateTimeFormat {
  const key = zone.toLowerCase();
  const known = formatters.get(key);
  if (known) return known;
  if (!nameShape.test(zone)) throw invalid(said`${field}: unknown time zone`);
  try {
    const made = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    formatters.set(key, made);
    return made;
  } catch {
    throw invalid(said`${field}: unknown time zone`);
  }
}

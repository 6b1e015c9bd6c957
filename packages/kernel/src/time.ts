const timestampPattern =
  /^(\d{4})-(\d\d)-(\d\d)[T ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)$/i;

/**
 * Whether the text is an RFC 3339 timestamp with an offset (or PostgreSQL's spelling with a space and `+00`) that exists in
 * the calendar: anything accepted here is a valid `timestamptz` parameter.
 */
export function isTimestamp(text: unknown): text is string {
  if (typeof text !== 'string') return false;
  const match = timestampPattern.exec(text);
  if (!match) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  // Day 0 of the next month is the last of this one; setUTCFullYear takes the years 1 to 99 literally.
  const lastDay = new Date(0);
  lastDay.setUTCFullYear(year, month, 0);
  return day <= lastDay.getUTCDate();
}

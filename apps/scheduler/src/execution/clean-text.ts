import type { Scrubber } from '@acp/kernel';

/** Text as PostgreSQL stores it, in text and in jsonb: no NUL, no lone surrogate. */
export function storable(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed();
}

/** A JSON object whose every text is storable and without secrets. */
export function scrubbedJson(value: Record<string, unknown>, scrubber: Scrubber): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value), (_key, each: unknown) =>
    typeof each === 'string' ? storable(scrubber.scrub(each)) : each,
  );
}

/** At most `limit` characters; what is cut off is said. Never tears a surrogate pair. */
export function bounded(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const kept = text.slice(0, limit).replace(/[\ud800-\udbff]$/, '');
  return `${kept}\n[… ${text.length - kept.length} more characters left out]`;
}

import { mapTexts, storableText } from '@acp/kernel';
import type { Scrubber } from '@acp/kernel';

/** A JSON object whose every text, names of fields too, is storable and without secrets. */
export function scrubbedJson(value: Record<string, unknown>, scrubber: Scrubber): Record<string, unknown> {
  const clean = (text: string) => storableText(scrubber.scrub(text));
  try {
    return mapTexts(JSON.parse(JSON.stringify(value)), clean) as Record<string, unknown>;
  } catch {
    // Nested too deeply to be walked: what it says is no loss.
    return { message: 'an entry that could not be recorded' };
  }
}

/** At most `limit` characters; what is cut off is said. Never tears a surrogate pair. */
export function bounded(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const kept = text.slice(0, limit).replace(/[\ud800-\udbff]$/, '');
  return `${kept}\n[… ${text.length - kept.length} more characters left out]`;
}

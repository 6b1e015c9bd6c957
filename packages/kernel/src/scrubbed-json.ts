import type { Scrubber } from './scrubber.ts';
import { mapTexts, storableText } from './text.ts';

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

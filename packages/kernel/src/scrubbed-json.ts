import type { Scrubber } from './scrubber.ts';
import { mapTexts, storableText } from './text.ts';

/** A JSON object in which every string, including field names, is storable and free of secrets. */
export function scrubbedJson(value: Record<string, unknown>, scrubber: Scrubber): Record<string, unknown> {
  const clean = (text: string) => storableText(scrubber.scrub(text));
  try {
    return mapTexts(JSON.parse(JSON.stringify(value)), clean) as Record<string, unknown>;
  } catch {
    // Nested too deeply to be processed; its content is no loss.
    return { message: 'an entry that could not be recorded' };
  }
}

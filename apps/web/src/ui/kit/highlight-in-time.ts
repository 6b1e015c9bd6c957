import { isOverTime, withinTime } from '@acp/kernel';
import { hasGrammar, highlight } from './markdown-rules.ts';

const LONGEST_MS = 200;

/**
 * Highlights code on the event loop: plain if it takes longer than any code does. Grammars take time with the square of a text that is
 * none: seconds for twenty kilobytes.
 */
export function highlightInTime(code: string, language: string): string {
  if (!hasGrammar(language)) return '';
  // Compiles the grammar: one that is interrupted while it is compiled would be of no use ever after.
  highlight('', language);
  try {
    return withinTime(LONGEST_MS, () => highlight(code, language));
  } catch (error) {
    if (!isOverTime(error)) throw error;
    return '';
  }
}

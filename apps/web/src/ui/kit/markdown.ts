/**
 * Texts in templates. A template only marks where a text stands; what they come to, rendered, folded or as they are, is
 * decided for the page as a whole, off the loop (markdown-renderer.ts), before it is sent.
 */
import { randomBytes } from 'node:crypto';
import type { Html } from './html.ts';

// Nobody outside of the process knows it, so that nothing that a page repeats can be taken for a mark.
const mark = `\0${randomBytes(12).toString('base64url')}`;
const marks = new RegExp(`${mark}\\0([^\\0]*)\\0([^\\0]*)\\0`);

/**
 * The place of a text that may hold Markdown.
 * @param source path of the page that shows it alone; a text without one is never folded
 */
export function markdown(text: string | null, source = ''): Html {
  if (text === null || text.trim() === '') return '';
  return `${mark}\0${source}\0${text.replaceAll('\0', '')}\0`;
}

export interface MarkedText {
  readonly source: string;
  readonly text: string;
}

/** The page between its texts, which lie one each between two pieces. */
export function splitAtTexts(page: Html): { pieces: Html[]; texts: MarkedText[] } {
  const parts = page.split(marks);
  const texts: MarkedText[] = [];
  const pieces = [parts[0] ?? ''];
  for (let at = 1; at < parts.length; at += 3) {
    texts.push({ source: parts[at]!, text: parts[at + 1]! });
    pieces.push(parts[at + 2]!);
  }
  return { pieces, texts };
}

/**
 * Texts in templates. A template only marks a text's position; whether it is rendered, folded or shown in plain text is
 * decided for the page as a whole, off the event loop (markdown-renderer.ts), before it is sent.
 */
import { randomBytes } from 'node:crypto';
import type { Html } from './html.ts';

// Known only to this process, so that no content repeated by a page can be mistaken for a mark.
const mark = `\0${randomBytes(12).toString('base64url')}`;
const marks = new RegExp(`${mark}\\0([^\\0]*)\\0([^]*?)${mark}`);

/**
 * Marks the position of a text that may contain Markdown. Until it is rendered, the text contains no `<`: whoever reads the page's
 * forms (form-fields.ts, give-back.ts) takes none of it for a tag.
 * @param source path of the page that shows only this text; a text without one is never folded
 */
export function markdown(text: string | null, source = ''): Html {
  if (text === null || text.trim() === '') return '';
  return `${mark}\0${source}\0${text.replaceAll('\0', '').replaceAll('<', '\0')}${mark}`;
}

export interface MarkedText {
  readonly source: string;
  readonly text: string;
}

/** Splits the page at its texts, each of which is between two pieces. */
export function splitAtTexts(page: Html): { pieces: Html[]; texts: MarkedText[] } {
  const parts = page.split(marks);
  const texts: MarkedText[] = [];
  const pieces = [parts[0] ?? ''];
  for (let at = 1; at < parts.length; at += 3) {
    texts.push({ source: parts[at]!, text: parts[at + 1]!.replaceAll('\0', '<') });
    pieces.push(parts[at + 2]!);
  }
  return { pieces, texts };
}

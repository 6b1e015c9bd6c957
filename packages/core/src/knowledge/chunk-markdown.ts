/** Pure: splits a text into passages along its Markdown structure. Plain text is Markdown that consists of paragraphs. */
import { createRequire } from 'node:module';
import type MarkdownIt from 'markdown-it';
import type { Token } from 'markdown-it';

export interface Chunk {
  /** Title of the source, followed by the headings above the passage. */
  heading: string;
  text: string;
}

// In characters. A passage is about 400 tokens: small enough to match a question, large enough to be understood on its own.
const LONGEST_CHUNK = 2000;
const FULL_CHUNK = 1400;
/** A section shorter than this shares its passage with the next. */
const SMALL_SECTION = 400;
const LONGEST_HEADING = 300;
/** Maximum length read from one source. */
export const LONGEST_SOURCE = 400_000;
export const MOST_CHUNKS = 300;

const require = createRequire(import.meta.url);
let made: InstanceType<typeof MarkdownIt> | undefined;

/** Loaded with the first source: only schedulers index. */
function parser(): InstanceType<typeof MarkdownIt> {
  if (made === undefined) {
    const Made = require('markdown-it') as typeof MarkdownIt;
    made = new Made();
    // Blocks only: inline markup is irrelevant here, and parsing it is slow on hostile text.
    made.core.ruler.enableOnly(['normalize', 'block']);
  }
  return made;
}

interface Block {
  kind: 'heading' | 'table' | 'fence' | 'other';
  /** Heading level, 1 to 6. */
  level: number;
  lines: string[];
  /** Heading text without markup. */
  label: string;
}

/** @returns `cut`: the end of the text was left out */
export function chunkMarkdown(title: string, text: string): { chunks: Chunk[]; cut: boolean } {
  const bounded = text.slice(0, LONGEST_SOURCE).toWellFormed();
  const chunker = new Chunker(title);
  for (const block of blocksOf(bounded)) {
    chunker.add(block);
    if (chunker.chunks.length > MOST_CHUNKS) break;
  }
  chunker.flush();
  const { chunks } = chunker;
  // If there is nothing but a title or headings, they are the content.
  if (chunks.length === 0)
    chunker.add({ kind: 'other', level: 0, label: '', lines: [bounded.trim() || title] });
  chunker.flush();
  return {
    chunks: chunks.slice(0, MOST_CHUNKS),
    cut: text.length > LONGEST_SOURCE || chunks.length > MOST_CHUNKS,
  };
}

class Chunker {
  readonly chunks: Chunk[] = [];
  readonly #title: string;
  readonly #path: { level: number; label: string }[] = [];
  #heading: string;
  #parts: string[] = [];
  #size = 0;

  constructor(title: string) {
    this.#title = title;
    this.#heading = headingOf(title, []);
  }

  add(block: Block): void {
    if (block.kind === 'heading') {
      this.#enter(block);
      return;
    }
    for (const part of partsOf(block)) {
      if (this.#size + part.length > LONGEST_CHUNK) this.flush();
      this.#push(part);
      if (this.#size >= FULL_CHUNK) this.flush();
    }
  }

  flush(): void {
    const text = this.#parts.join('\n\n').trim();
    if (text !== '') this.chunks.push({ heading: this.#heading, text });
    this.#parts = [];
    this.#size = 0;
    this.#heading = headingOf(this.#title, this.#path);
  }

  #enter({ level, label, lines }: Block): void {
    if (this.#size >= SMALL_SECTION) this.flush();
    while ((this.#path.at(-1)?.level ?? 0) >= level) this.#path.pop();
    this.#path.push({ level, label });
    // A heading alone is no passage: it heads the next one, or becomes part of the current one.
    if (this.#size > 0) this.#push(lines.join('\n').slice(0, LONGEST_HEADING));
    else this.#heading = headingOf(this.#title, this.#path);
  }

  #push(part: string): void {
    this.#parts.push(part);
    this.#size += part.length + 2;
  }
}

function headingOf(title: string, path: readonly { label: string }[]): string {
  const labels = [title, ...path.map(({ label }) => label)].map((label) =>
    label.replaceAll(/\s+/g, ' ').trim(),
  );
  // Documents often begin with their title.
  const distinct = labels.filter((label, at) => label !== '' && label !== labels[at - 1]);
  return distinct.join(' › ').slice(0, LONGEST_HEADING).toWellFormed();
}

function* blocksOf(text: string): Generator<Block> {
  // Split lines like the parser does.
  const lines = text.replaceAll(/\r\n?/g, '\n').split('\n');
  const tokens = parser().parse(text, {});
  for (const [at, token] of tokens.entries()) {
    if (token.level !== 0 || token.map === null || token.nesting < 0) continue;
    const [from, to] = token.map;
    const kind = kindOf(token);
    yield {
      kind,
      level: kind === 'heading' ? Number(token.tag.slice(1)) : 0,
      lines: lines.slice(from, to),
      label: kind === 'heading' ? (tokens[at + 1]?.content ?? '') : '',
    };
  }
}

function kindOf({ type }: Token): Block['kind'] {
  switch (type) {
    case 'heading_open':
      return 'heading';
    case 'table_open':
      return 'table';
    case 'fence':
      return 'fence';
    default:
      return 'other';
  }
}

/** Splits a block that is longer than a passage between lines; tables keep their header, code its fences. */
function partsOf({ kind, lines }: Block): string[] {
  const whole = lines.join('\n').trimEnd();
  if (whole.length <= LONGEST_CHUNK) return [whole];
  if (kind === 'table') {
    const [head, rows] = [lines.slice(0, 2).join('\n'), lines.slice(2)];
    if (head.length < SMALL_SECTION) return packed(rows, head.length + 1).map((part) => `${head}\n${part}`);
  }
  if (kind === 'fence') {
    const [fence = '', ...code] = lines;
    const close = /^\s*(?:`{3,}|~{3,})/.exec(fence)?.[0] ?? '```';
    if (fence.length < SMALL_SECTION)
      return packed(code.at(-1)?.trim() === close.trim() ? code.slice(0, -1) : code, fence.length * 2).map(
        (part) => `${fence}\n${part}\n${close}`,
      );
  }
  return packed(lines, 0);
}

/** Packs lines into parts; a line that is too long is broken between words. @param reserved space for what is put around them */
function packed(lines: readonly string[], reserved: number): string[] {
  const most = FULL_CHUNK - reserved;
  const parts: string[] = [];
  let part: string[] = [];
  let size = 0;
  for (const line of lines.flatMap((each) => brokenLine(each, most))) {
    if (size + line.length > most && part.length > 0) {
      parts.push(part.join('\n'));
      [part, size] = [[], 0];
    }
    part.push(line);
    size += line.length + 1;
  }
  if (part.length > 0) parts.push(part.join('\n'));
  return parts;
}

function brokenLine(line: string, most: number): string[] {
  const pieces: string[] = [];
  let at = 0;
  while (line.length - at > most) {
    const window = line.slice(at, at + most);
    // Break after a sentence if one ends in the second half, else between words, else anywhere.
    const sentence = Math.max(...['. ', '! ', '? ', '。'].map((end) => window.lastIndexOf(end)));
    const blank = window.lastIndexOf(' ');
    const end = [sentence + 1, blank + 1].find((place) => place > most / 2) ?? most;
    pieces.push(window.slice(0, end).trimEnd().toWellFormed());
    at += end;
  }
  pieces.push(line.slice(at));
  return pieces;
}

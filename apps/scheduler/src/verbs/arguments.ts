// Parses the arguments of one verb line: positional words and `key=value` pairs, either of which may be quoted.

import type { VerbRow } from '@acp/contract';

export interface VerbArguments {
  positional: string[];
  /** Null prototype: keys are chosen by the model, and may be `__proto__`. */
  named: Record<string, string>;
}

interface Word {
  value: string;
  key: string | null;
  start: number;
  end: number;
}

const escapes: Record<string, string> = { n: '\n', t: '\t', '"': '"', '\\': '\\' };

function isBlank(char: string | undefined): boolean {
  return char === ' ' || char === '\t';
}

/** Reads a quoted text whose opening quote is at `at`; null if the closing quote is missing. */
function readQuoted(line: string, at: number): { value: string; end: number } | null {
  let value = '';
  let from = at + 1;
  for (let index = from; index < line.length; index += 1) {
    const char = line[index];
    if (char === '"') return { value: value + line.slice(from, index), end: index + 1 };
    if (char !== '\\') continue;
    const escaped = escapes[line[index + 1] ?? ''];
    // An unknown escape (a Windows path, say) stays as written.
    if (escaped !== undefined) {
      value += line.slice(from, index) + escaped;
      from = index + 2;
    }
    index += 1;
  }
  return null;
}

function endOfWord(line: string, at: number): number {
  let end = at;
  while (end < line.length && !isBlank(line[end])) end += 1;
  return end;
}

/** Returns the key if the word at `start` has the form `key=…`, otherwise null. */
function readKey(line: string, start: number): string | null {
  let at = start;
  while (at < line.length && /[A-Za-z0-9_-]/.test(line[at]!)) at += 1;
  return at > start && line[at] === '=' && /[A-Za-z_]/.test(line[start]!) ? line.slice(start, at) : null;
}

// Linear: an unterminated quote is searched for only once. A quote that opens a later word follows a blank or `=`,
// so the first search would have met it unescaped and ended there.
function readWords(line: string): Word[] {
  const words: Word[] = [];
  let at = 0;
  while (at < line.length) {
    if (isBlank(line[at])) {
      at += 1;
      continue;
    }
    const key = readKey(line, at);
    const valueAt = key === null ? at : at + key.length + 1;
    const quoted = line[valueAt] === '"' ? readQuoted(line, valueAt) : null;
    const tailAt = quoted?.end ?? valueAt;
    const end = endOfWord(line, tailAt);
    words.push({ key, value: (quoted?.value ?? '') + line.slice(tailAt, end), start: at, end });
    at = end;
  }
  return words;
}

export function emptyArguments(): VerbArguments {
  const named: Record<string, string> = Object.create(null);
  return { positional: [], named };
}

/**
 * Parses the rest of a verb's line. `text` is the line without its named arguments, otherwise as written
 * (a text that is quoted as a whole loses the quotes): it is used for titles and questions.
 */
export function parseArguments(rest: string, verb: VerbRow): { args: VerbArguments; text: string } {
  const args = emptyArguments();
  const words = readWords(rest);
  const pieces: string[] = [];
  let from = 0;
  for (const word of words) {
    if (word.key !== null && (!verb.free_text || verb.keys.includes(word.key))) {
      args.named[word.key] = word.value;
      pieces.push(rest.slice(from, word.start).trim());
      from = word.end;
    } else {
      args.positional.push(word.key === null ? word.value : rest.slice(word.start, word.end));
    }
  }
  pieces.push(rest.slice(from).trim());
  const [only, ...others] = words.filter(({ key }) => key === null || args.named[key] === undefined);
  // A text by its name, such as title="…", and nothing else.
  if (verb.free_text && only?.key === verb.params.at(-1)?.name && only !== undefined && others.length === 0)
    return { args: { ...args, positional: [only.value] }, text: only.value };
  const text = pieces.filter((piece) => piece !== '').join(' ');
  const quoted = text.startsWith('"') ? readQuoted(text, 0) : null;
  return { args, text: quoted !== null && quoted.end === text.length ? quoted.value : text };
}

// The grammar of action verbs (decisions 5; specification, behaviour rule 5). Pure, and linear in the length of the
// text: a model's output is hostile input.

import {
  BodyEnd,
  closesFence,
  dedent,
  type Fence,
  nearVerb,
  openingFence,
  readVerbLine,
  takesBody,
  type VerbRow,
} from '@acp/contract';
import { emptyArguments, parseArguments, type VerbArguments } from './arguments.ts';

export interface ParsedAction {
  /** Position among the run's actions: part of the key that makes each apply only once (decisions 8.3). */
  ordinal: number;
  /** Canonical name, even if an alias or snake_case was written. */
  verb: string;
  args: VerbArguments;
  /** The rest of the line as written, trimmed. For `mcp:`, what follows the tool's name. */
  rest: string;
  /** `rest` without named arguments: a title or a question. */
  text: string;
  body: string | null;
  /** Starts at 1. */
  line: number;
}

interface UnknownVerb {
  word: string;
  line: number;
  /** Why it is none, for people. */
  reason: string;
}

export interface ParsedOutput {
  actions: ParsedAction[];
  /** The text without verb lines and their bodies; becomes the comment. */
  prose: string;
  /** Lines that look like a verb but are none (they stay in the prose); at most 20, for the transcript. */
  unknown: UnknownVerb[];
  /** First number of the next turn. */
  next_ordinal: number;
}

const maxUnknown = 20;
/** Reads lines one at a time; `\r\n` counts as `\n`. `number` is the number of the last line read. */
class Lines {
  number = 0;
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(): string | null {
    if (this.#at > this.#text.length) return null;
    const found = this.#text.indexOf('\n', this.#at);
    const end = found === -1 ? this.#text.length : found;
    const line = this.#text.slice(this.#at, this.#text[end - 1] === '\r' && end > this.#at ? end - 1 : end);
    this.#at = end + 1;
    this.number += 1;
    return line;
  }

  mark(): { at: number; number: number } {
    return { at: this.#at, number: this.number };
  }

  reset(mark: { at: number; number: number }): void {
    this.#at = mark.at;
    this.number = mark.number;
  }
}

/** Collects prose lines and collapses blank lines, except inside a fence, where they may be significant. */
class Prose {
  readonly #lines: string[] = [];
  #blank = true;

  push(line: string, inFence = false): void {
    const blank = !inFence && line.trim() === '';
    if (blank && this.#blank) return;
    this.#lines.push(blank ? '' : line);
    this.#blank = blank;
  }

  toString(): string {
    return this.#lines.join('\n').trim();
  }
}

/** Reads the fenced block on the next line, or after one blank line; null, consuming nothing, if there is none. */
function readBody(lines: Lines): string | null {
  const mark = lines.mark();
  let line = lines.next();
  if (line?.trim() === '') line = lines.next();
  const fence = line === null ? null : openingFence(line);
  if (fence === null) {
    lines.reset(mark);
    return null;
  }
  const body: string[] = [];
  const end = new BodyEnd(fence);
  for (let inner = lines.next(); inner !== null && !end.isAt(inner); inner = lines.next())
    body.push(dedent(inner, fence));
  return body.join('\n');
}

function mistakenVerb(
  line: string,
  found: ReturnType<typeof readVerbLine>,
): Omit<UnknownVerb, 'line'> | null {
  if (found !== null && 'verb' in found) return { word: found.verb.name, reason: 'it is no verb here' };
  if (found !== null) return { word: found.word, reason: 'there is no such verb' };
  const word = nearVerb(line);
  return word === null ? null : { word, reason: 'a verb starts its line, in lower case and without marks' };
}

/**
 * Parses the output of one turn. `firstOrdinal` continues the numbering of the run's earlier turns.
 * @param obeys verbs beyond these are text. Each still takes a number, so that a change of this choice renumbers nothing.
 */
export function parse(
  text: string,
  firstOrdinal = 1,
  obeys: (verb: VerbRow) => boolean = () => true,
): ParsedOutput {
  const lines = new Lines(text);
  const prose = new Prose();
  const actions: ParsedAction[] = [];
  const unknown: ParsedOutput['unknown'] = [];
  let fence: Fence | null = null;
  let ordinal = firstOrdinal;
  for (let line = lines.next(); line !== null; line = lines.next()) {
    if (fence !== null) {
      if (closesFence(line, fence)) fence = null;
      prose.push(line, true);
      continue;
    }
    const found = readVerbLine(line);
    if (found === null || 'word' in found || !obeys(found.verb)) {
      if (found !== null && 'verb' in found) ordinal += 1;
      const mistaken = unknown.length < maxUnknown ? mistakenVerb(line, found) : null;
      if (mistaken !== null) unknown.push({ ...mistaken, line: lines.number });
      fence = openingFence(line);
      prose.push(line, fence !== null);
      continue;
    }
    const { verb, rest, tool } = found;
    const number = lines.number;
    // JSON has its own quoting: the arguments of a tool call are not split into words.
    const { args, text: free } =
      tool === null
        ? parseArguments(rest, verb)
        : { args: { ...emptyArguments(), positional: [tool] }, text: rest };
    const body = takesBody(found) ? readBody(lines) : null;
    actions.push({ ordinal, verb: verb.name, args, rest, text: free, body, line: number });
    ordinal += 1;
  }
  return { actions, prose: prose.toString(), unknown, next_ordinal: ordinal };
}

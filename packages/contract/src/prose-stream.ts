import { BodyEnd, closesFence, type Fence, openingFence } from './fences.ts';
import { readVerbLine, takesBody } from './verb-lines.ts';

/**
 * The prose of a turn while it streams: the joined results of `push` are the text without verb lines and their bodies, as the
 * verb parser leaves it. A line is held back only as long as it might still be a verb, a blank line or a verb's body.
 */
export class ProseStream {
  #line = '';
  /** Number of characters of the line already emitted. */
  #given = 0;
  /** Something has been emitted, so what follows starts on a new line. */
  #begun = false;
  /** Blank lines are pending; leading ones are never emitted. */
  #blank = false;
  #fence: Fence | null = null;
  /** A verb may be followed by a body: `line` right after it, `blank` after one blank line. */
  #awaiting: 'line' | 'blank' | null = null;
  #body: BodyEnd | null = null;

  push(text: string): string {
    const parts = text.split('\n');
    let out = '';
    for (const [index, part] of parts.entries()) {
      this.#line += part;
      if (index < parts.length - 1) out += this.#endLine();
    }
    return out + this.#peek();
  }

  /** The end of the text: returns the rest of the last line. */
  end(): string {
    return this.#endLine();
  }

  #endLine(): string {
    const line = this.#line.endsWith('\r') ? this.#line.slice(0, -1) : this.#line;
    const out = this.#takeLine(line);
    this.#line = '';
    this.#given = 0;
    return out;
  }

  #takeLine(line: string): string {
    if (this.#body !== null) {
      if (this.#body.isAt(line)) this.#body = null;
      return '';
    }
    const pending = this.#awaiting;
    if (pending !== null) {
      if (pending === 'line' && line.trim() === '') {
        this.#awaiting = 'blank';
        return '';
      }
      this.#awaiting = null;
      const body = openingFence(line);
      if (body !== null) {
        this.#body = new BodyEnd(body);
        return '';
      }
      // The blank line did not belong to a body.
      if (pending === 'blank') this.#blank = true;
    }
    if (this.#fence !== null) {
      const out = this.#give(line, true);
      if (closesFence(line, this.#fence)) this.#fence = null;
      return out;
    }
    const found = this.#given > 0 ? null : readVerbLine(line);
    if (found !== null && !('word' in found)) {
      if (takesBody(found)) this.#awaiting = 'line';
      return '';
    }
    this.#fence = openingFence(line);
    return this.#give(line, this.#fence !== null);
  }

  /** The part of an unfinished line that can only be prose. */
  #peek(): string {
    const line = this.#line;
    if (this.#body !== null || this.#awaiting !== null || line.trim() === '') return '';
    if (this.#fence === null && this.#given === 0 && line.startsWith('/')) return '';
    // It may be part of the line's \r\n, or of its trailing spaces.
    const whole = line.trimEnd();
    return whole.length > this.#given ? this.#give(whole, this.#fence !== null) : '';
  }

  #give(line: string, inFence: boolean): string {
    if (this.#given > 0) {
      const rest = line.slice(this.#given);
      this.#given = Math.max(this.#given, line.length);
      return rest;
    }
    if (!inFence && line.trim() === '') {
      this.#blank = true;
      return '';
    }
    const before = this.#begun ? (this.#blank ? '\n\n' : '\n') : '';
    this.#begun = true;
    this.#blank = false;
    this.#given = line.length;
    return before + line;
  }
}

/** A transcript entry, as far as it concerns the text of a reply. */
export interface SpokenEntry {
  kind: string;
  /** For `output`: the text. */
  payload: Record<string, unknown>;
}

/** The text of a reply of several turns while its run's transcript comes in: turns are separated by a blank line. */
export class ReplyText {
  #turn = new ProseStream();
  #said = false;
  /** The next text belongs to another turn than the previous one. */
  #break = false;

  /** @returns what the entry adds to the text */
  take({ kind, payload }: SpokenEntry): string {
    if (kind === 'output')
      return this.#say(this.#turn.push(typeof payload.text === 'string' ? payload.text : ''));
    if (kind !== 'action' && kind !== 'prompt' && kind !== 'status') return '';
    const rest = this.#say(this.#turn.end());
    this.#turn = new ProseStream();
    this.#break = true;
    return rest;
  }

  #say(text: string): string {
    if (text === '') return '';
    const gap = this.#break && this.#said ? '\n\n' : '';
    this.#said = true;
    this.#break = false;
    return gap + text;
  }
}

import { BodyEnd, closesFence, type Fence, openingFence } from './fences.ts';
import { readVerbLine, takesBody } from './verb-lines.ts';

/**
 * The prose of a turn while it streams: the joined results of `push` are the text without verb lines and their bodies, as the
 * verb parser leaves it. A line is held back only as long as it might still be a verb, a blank line or a verb's body.
 */
export class ProseStream {
  /** The unfinished line, in pieces: joining them as each arrives would take time with the square of its length. */
  #parts: string[] = [];
  /** The blanks that it ends with, not emitted yet. */
  #held = '';
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
      if (part !== '') this.#parts.push(part);
      out += index < parts.length - 1 ? this.#endLine() : this.#peek(part);
    }
    return out;
  }

  /** The end of the text: returns the rest of the last line. */
  end(): string {
    return this.#endLine();
  }

  #endLine(): string {
    const whole = this.#parts.join('');
    const out = this.#takeLine(whole.endsWith('\r') ? whole.slice(0, -1) : whole);
    this.#parts = [];
    this.#held = '';
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

  /** What can only be prose of the unfinished line. @param part its last piece */
  #peek(part: string): string {
    if (this.#body !== null || this.#awaiting !== null) return '';
    // It may be part of the line's \r\n, or of its trailing spaces.
    const shown = part.trimEnd();
    const before = this.#held;
    this.#held = shown === '' ? before + part : part.slice(shown.length);
    if (shown === '') return '';
    if (this.#fence === null && this.#given === 0 && this.#parts[0]!.startsWith('/')) return '';
    if (this.#given === 0) return this.#give(before + shown, this.#fence !== null);
    this.#given += before.length + shown.length;
    return before + shown;
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

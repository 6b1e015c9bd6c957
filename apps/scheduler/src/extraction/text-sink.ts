/** Where parsers write the text as they find it: what has been written survives when their process is killed. */
import { LONGEST_TEXT } from './protocol.ts';

/** Thrown to stop a parser once the text has reached its maximum length; this is no failure. */
export class TextIsFull extends Error {}

/** Separators between two pieces of text, weakest first: of several in a row the strongest applies. */
const gaps = ['', ' ', '\t', '\n', '\n\n'] as const;
type Gap = (typeof gaps)[number];

/** Small enough to lose little, large enough that a file of tiny pieces needs few writes. */
const WRITE_CHARACTERS = 4096;

export class TextSink {
  readonly #put: (text: string) => void;
  #room = LONGEST_TEXT;
  #held = '';
  #gap: Gap = '';
  #begun = false;

  /** @param put must have passed the text on by the time it returns */
  constructor(put: (text: string) => void) {
    this.#put = put;
  }

  /** Separators at the beginning and the end are dropped. */
  separate(gap: Gap): void {
    if (this.#begun && gaps.indexOf(gap) > gaps.indexOf(this.#gap)) this.#gap = gap;
  }

  /** @throws TextIsFull */
  write(text: string): void {
    if (text === '') return;
    const more = (this.#gap + text).slice(0, this.#room);
    this.#gap = '';
    this.#begun = true;
    this.#room -= more.length;
    this.#held += more;
    if (this.#room === 0) throw new TextIsFull();
    if (this.#held.length >= WRITE_CHARACTERS) this.flush();
  }

  /** Writes the words, with one space for any white space between them. */
  writeWords(text: string): void {
    for (const [index, word] of text.split(/\s+/).entries()) {
      if (index > 0) this.separate(' ');
      this.write(word);
    }
  }

  flush(): void {
    // Half of a surrogate pair waits for the other half: each write is encoded separately.
    const whole = /[\uD800-\uDBFF]$/.test(this.#held) ? this.#held.slice(0, -1) : this.#held;
    if (whole === '') return;
    this.#held = this.#held.slice(whole.length);
    this.#put(whole);
  }
}

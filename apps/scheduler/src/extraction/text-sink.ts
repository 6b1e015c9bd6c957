/** Where parsers put the text while they find it: what has arrived stays, also when their process is ended. */
import { LONGEST_TEXT } from './protocol.ts';

/** Thrown out of a parser once the text is as long as it may be; nothing is wrong then. */
export class TextIsFull extends Error {}

/** Between two pieces of text, the weakest first: of several in a row the strongest counts. */
const gaps = ['', ' ', '\t', '\n', '\n\n'] as const;
export type Gap = (typeof gaps)[number];

/** Small enough that little is lost, large enough that a file of tiny pieces costs few writes. */
const WRITE_CHARACTERS = 4096;

export class TextSink {
  readonly #put: (text: string) => void;
  #room = LONGEST_TEXT;
  #held = '';
  #gap: Gap = '';
  #begun = false;

  /** @param put must have handed the text on when it returns */
  constructor(put: (text: string) => void) {
    this.#put = put;
  }

  /** Nothing comes of gaps at the beginning and at the end. */
  separate(gap: Gap): void {
    if (this.#begun && gaps.indexOf(gap) > gaps.indexOf(this.#gap)) this.#gap = gap;
  }

  /** Throws TextIsFull. */
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

  /** Its words, with one blank for any white space between them. */
  writeWords(text: string): void {
    for (const [index, word] of text.split(/\s+/).entries()) {
      if (index > 0) this.separate(' ');
      this.write(word);
    }
  }

  flush(): void {
    // Half of a pair waits for the other: each write is encoded by itself.
    const whole = /[\uD800-\uDBFF]$/.test(this.#held) ? this.#held.slice(0, -1) : this.#held;
    if (whole === '') return;
    this.#held = this.#held.slice(whole.length);
    this.#put(whole);
  }
}

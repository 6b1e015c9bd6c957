/**
 * Removes known secret values from text before it is stored or shown (decisions 8.6). Overlapping secrets are removed
 * together, so that no part of either remains.
 */
import { LEAST_LENGTH, type Span, TextFinder } from './text-finder.ts';

const replacement = '[redacted]';

/** Shorter values are hardly secrets, and removing them would mangle ordinary words. */
const minSecretLength = LEAST_LENGTH;

export class Scrubber {
  readonly #secrets = new Set<string>();
  /** Made when it is needed: of all secrets known by then. */
  #finder: TextFinder | undefined;
  #longest = 0;

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.addSecret(secret);
  }

  addSecret(value: string): void {
    // In JSON text the value appears escaped.
    for (const form of [value, JSON.stringify(value).slice(1, -1)]) {
      if (form.length < minSecretLength) continue;
      this.#secrets.add(form);
      this.#finder = undefined;
      this.#longest = Math.max(this.#longest, form.length);
    }
  }

  /** Length of the longest secret in UTF-16 units; 0 if there are none. */
  get longest(): number {
    return this.#longest;
  }

  scrub(text: string): string {
    if (text.length < minSecretLength) return text;
    const spans = this.find(text);
    if (spans.length === 0) return text;
    let clean = '';
    let position = 0;
    for (const { start, end } of spans) {
      clean += text.slice(position, start) + replacement;
      position = end;
    }
    return clean + text.slice(position);
  }

  /** A scrubber for text that arrives in pieces; its joined output equals `scrub` of the whole text. */
  stream(): ScrubberStream {
    return new ScrubberStream(this);
  }

  /** Positions of secrets, in order; overlapping ones are merged with each other and with `first`. */
  find(text: string, first?: Span): Span[] {
    if (this.#secrets.size === 0) return first ? [first] : [];
    this.#finder ??= new TextFinder(this.#secrets);
    return this.#finder.find(text, first);
  }
}

/**
 * Holds back one character less than the longest secret's length, since only then is it certain that no secret starts in
 * what is emitted. One stream per text; `end` returns the rest.
 */
export class ScrubberStream {
  readonly #scrubber: Scrubber;
  #held = '';
  /** How much of the start of `#held` belongs to a secret whose replacement has already been emitted. */
  #covered = 0;

  constructor(scrubber: Scrubber) {
    this.#scrubber = scrubber;
  }

  push(text: string): string {
    this.#held += text;
    return this.#release(this.#held.length - Math.max(0, this.#scrubber.longest - 1));
  }

  end(): string {
    const rest = this.#release(this.#held.length);
    this.#covered = 0;
    return rest;
  }

  #release(wanted: number): string {
    const limit = wholeCharacters(this.#held, wanted);
    if (limit <= 0) return '';
    const covered = this.#covered > 0 ? { start: 0, end: this.#covered } : undefined;
    let clean = '';
    let position = 0;
    for (const { start, end } of this.#scrubber.find(this.#held, covered)) {
      if (start >= limit) break;
      const goesOn = covered !== undefined && start === 0;
      clean += this.#held.slice(position, start) + (goesOn ? '' : replacement);
      position = end;
    }
    if (position < limit) clean += this.#held.slice(position, limit);
    this.#covered = Math.max(0, position - limit);
    this.#held = this.#held.slice(limit);
    return clean;
  }
}

// Never splits a surrogate pair, since each piece may be stored as UTF-8 on its own.
function wholeCharacters(text: string, limit: number): number {
  if (limit <= 0 || limit >= text.length) return limit;
  const code = text.charCodeAt(limit - 1);
  return code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit;
}

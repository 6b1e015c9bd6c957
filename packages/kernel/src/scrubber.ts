/**
 * Removes known secret values from text before it is stored or shown (decisions 8.6). Overlapping secrets are removed
 * together, so that no part of either remains.
 */
const replacement = '[redacted]';

/** Shorter values are hardly secrets, and removing them would mangle ordinary words. */
const minSecretLength = 8;

/** A secret's occurrences are looked for by this much of it, and only then followed character by character. */
const SOUGHT = 64;

type Span = { start: number; end: number };

export class Scrubber {
  readonly #secrets = new Map<string, Int32Array>();
  #longest = 0;

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.addSecret(secret);
  }

  addSecret(value: string): void {
    // In JSON text the value appears escaped.
    for (const form of [value, JSON.stringify(value).slice(1, -1)]) {
      if (form.length < minSecretLength) continue;
      this.#secrets.set(form, bordersOf(form));
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
    const found: Span[] = first ? [first] : [];
    for (const [secret, borders] of this.#secrets)
      for (const span of joined(occurrences(text, secret, borders))) found.push(span);
    return joined(found.toSorted((a, b) => a.start - b.start || b.end - a.end));
  }
}

/** For each length of a beginning of the text: the length of its longest shorter beginning that it also ends with. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length + 1);
  let matched = 0;
  for (let at = 1; at < text.length; at += 1) {
    while (matched > 0 && text[at] !== text[matched]) matched = borders[matched]!;
    if (text[at] === text[matched]) matched += 1;
    borders[at + 1] = matched;
  }
  return borders;
}

/**
 * Where the secret stands, also where it overlaps itself. Linear in the length of any text and any secret (Knuth, Morris, Pratt): both
 * may be chosen to be compared again and again.
 */
function* occurrences(text: string, secret: string, borders: Int32Array): Generator<Span> {
  const sought = secret.slice(0, SOUGHT);
  for (let at = text.indexOf(sought); at !== -1;) {
    let end = at + sought.length;
    let matched = sought.length;
    while (matched >= sought.length) {
      if (matched === secret.length) yield { start: end - matched, end };
      if (end === text.length) return;
      if (text[end] === secret[matched]) {
        matched += 1;
        end += 1;
      } else matched = borders[matched]!;
    }
    at = text.indexOf(sought, end - matched);
  }
}

/** @param spans in the order of their starts */
function joined(spans: Iterable<Span>): Span[] {
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else merged.push({ ...span });
  }
  return merged;
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

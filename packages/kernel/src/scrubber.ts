/**
 * Removes known secret values from text before it is stored or shown (decisions 8.6). Overlapping secrets are
 * removed as one, so that no rest of either stays.
 */
const replacement = '[redacted]';

/** Shorter values are no secrets worth the name, and removing them would tear up ordinary words. */
const minSecretLength = 8;

type Span = { start: number; end: number };

export class Scrubber {
  readonly #secrets = new Set<string>();
  #longest = 0;

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.addSecret(secret);
  }

  addSecret(value: string): void {
    // In a JSON text the value stands escaped.
    for (const form of [value, JSON.stringify(value).slice(1, -1)]) {
      if (form.length < minSecretLength) continue;
      this.#secrets.add(form);
      this.#longest = Math.max(this.#longest, form.length);
    }
  }

  /** Length in UTF-16 units of the longest secret; 0 without any. */
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

  /** A scrubber for text that arrives in pieces; what it puts out joined is what `scrub` makes of the whole. */
  stream(): ScrubberStream {
    return new ScrubberStream(this);
  }

  /** Where secrets stand, in order, overlapping ones merged with each other and with `first`. */
  find(text: string, first?: Span): Span[] {
    const found: Span[] = first ? [first] : [];
    for (const secret of this.#secrets) {
      for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + 1)) {
        found.push({ start: at, end: at + secret.length });
      }
    }
    found.sort((a, b) => a.start - b.start || b.end - a.end);
    const merged: Span[] = [];
    for (const span of found) {
      const last = merged.at(-1);
      if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
      else merged.push({ ...span });
    }
    return merged;
  }
}

/**
 * Holds back the longest secret's length less one, for only then is it certain that no secret begins in what is put
 * out. One stream per text; `end` gives the rest.
 */
export class ScrubberStream {
  readonly #scrubber: Scrubber;
  #held = '';
  /** How much of the start of `#held` belongs to a secret whose replacement is already put out. */
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

// A surrogate pair is never torn, since each piece may be stored as UTF-8 by itself.
function wholeCharacters(text: string, limit: number): number {
  if (limit <= 0 || limit >= text.length) return limit;
  const code = text.charCodeAt(limit - 1);
  return code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit;
}

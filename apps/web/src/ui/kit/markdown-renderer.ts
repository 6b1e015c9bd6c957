/** Renders the texts of a page (markdown.ts): within limits for the page as a whole, and off the event loop. */
import { createHash } from 'node:crypto';
import { foldedText } from './folded-text.ts';
import type { Tx } from '@acp/db';
import { highlightInTime } from './highlight-in-time.ts';
import { html, type Html } from './html.ts';
import { type MarkedText, splitAtTexts } from './markdown.ts';
import { resolveReferences } from './references.ts';
import type * as Inline from './render-markdown.ts';
import { type Rendered, TextThread } from './text-thread.ts';

/** In characters. A longer text is shown in plain text. */
const LONGEST_TEXT = 200_000;
/** Total characters of the texts shown unfolded on a page; the shortest come first, the rest is folded. */
const PAGE_LIMIT = 300_000;
/** Rendered on the event loop, per page: some tens of milliseconds in the worst case, and most pages need no thread. */
const INLINE_LIMIT = 6000;
/** Maximum time a page waits for its texts. */
const PAGE_WAIT_MS = 2000;
/** Stored images that a page shows: what its reader asks for counts towards the reader's limit of requests. */
const MOST_IMAGES = 50;
/** Total size of the cache, so that the same text is not rendered again. */
const CACHE_LIMIT = 16_000_000;

/** Loaded by the first page with a text: a process that only answers programs does without. */
let inlineRenderer: Promise<typeof Inline> | undefined;

export class MarkdownRenderer {
  readonly #thread = new TextThread();
  /** Rendered texts by digest, oldest first. Null: can't be rendered within the limits. */
  readonly #rendered = new Map<string, Html | null>();
  #size = 0;

  /**
   * Returns the page ready to be sent.
   * @param about the company whose issues and agents its texts may name
   */
  async finish(page: Html, about?: { tx: Tx; company_id: string }): Promise<Html> {
    const { pieces, texts } = splitAtTexts(page);
    if (texts.length === 0) return page;
    const shown = atOnce(texts);
    const all = [...shown].reduce((sum, at) => sum + texts[at]!.text.length, 0);
    const wait = AbortSignal.timeout(PAGE_WAIT_MS);
    // The shortest start first: none of them waits for a long one that uses up the page's time.
    const begun = new Map(
      [...shown]
        .toSorted((a, b) => texts[a]!.text.length - texts[b]!.text.length)
        .map((at) => [at, this.#render(texts[at]!.text, all <= INLINE_LIMIT, wait)]),
    );
    const places = await Promise.all(
      texts.map(async (text, at) => (shown.has(at) ? ((await begun.get(at)) ?? aside(text)) : folded(text))),
    );
    const shownImages = fewImages();
    const whole = pieces.map((piece, at) => piece + shownImages(places[at] ?? '')).join('');
    return about ? resolveReferences(about.tx, about.company_id, whole) : whole;
  }

  /** Null: not within the limits, or not in time. */
  async #render(text: string, inline: boolean, wait: AbortSignal): Promise<Html | null> {
    if (text.length > LONGEST_TEXT) return null;
    const key = createHash('sha256').update(text).digest('base64url');
    const known = this.#rendered.get(key);
    if (known !== undefined) {
      this.#rendered.delete(key);
      this.#rendered.set(key, known);
      return known;
    }
    if (inline) {
      const { renderMarkdown } = await (inlineRenderer ??= import('./render-markdown.ts'));
      return this.#keep(key, renderMarkdown(text, highlightInTime));
    }
    const work = this.#thread.render(text, wait).then((rendered) => this.#keep(key, rendered));
    // Work in progress is cached for the next reader, even if this one is gone.
    return Promise.race([work, aborted(wait)]);
  }

  #keep(key: string, rendered: Rendered): Html | null {
    if (rendered === undefined || this.#rendered.has(key)) return rendered ?? null;
    this.#rendered.set(key, rendered);
    this.#size += sizeOf(rendered);
    for (const [oldest, value] of this.#rendered) {
      if (this.#size <= CACHE_LIMIT) break;
      this.#rendered.delete(oldest);
      this.#size -= sizeOf(value);
    }
    return rendered;
  }
}

/** Leaves out the images beyond the limit, text by text: their descriptions stay. */
function fewImages(): (text: Html) => Html {
  let count = 0;
  return (text) =>
    text.replaceAll(/<img src="\/[^"]*"/g, (shown) => {
      count += 1;
      return count > MOST_IMAGES ? '<img' : shown;
    });
}

/** Shared by the process: texts rendered for one page are reused for the next one. */
export const sharedTexts = new MarkdownRenderer();

const aborted = async (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });

/** An entry without a text has a cost too. */
const sizeOf = (rendered: Html | null): number => 200 + (rendered?.length ?? 0);

/** The texts shown unfolded: those without a page of their own, then the shortest, newest first. */
function atOnce(texts: readonly MarkedText[]): ReadonlySet<number> {
  const order = [...texts.keys()].toSorted((a, b) => rank(texts[a]!) - rank(texts[b]!) || b - a);
  const shown = new Set<number>();
  let room = PAGE_LIMIT;
  for (const at of order) {
    const { text, source } = texts[at]!;
    if (source !== '' && text.length > room) break;
    room -= text.length;
    shown.add(at);
  }
  return shown;
}

const rank = ({ source, text }: MarkedText): number => (source === '' ? 0 : text.length);

const folded = ({ text, source }: MarkedText): Html => foldedText(source, text.length);

/** Shown for a text that could not be rendered. */
const aside = (text: MarkedText): Html => (text.source === '' ? html`<pre>${text.text}</pre>` : folded(text));

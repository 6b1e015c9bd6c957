import { type ChannelKind, ReplyText, type SpokenEntry } from '@acp/contract';
import { type GrowingReply, type Piece, piecesOf, recordDraft } from '@acp/core';
import { ChannelFailure, type ChannelLink } from './channel-link.ts';
import type { WorkerParts } from './channel-parts.ts';
import type { FollowedReply } from './live-texts.ts';
import type { Pace } from './pace.ts';

/** Longer texts grow no further. */
const MOST_PARTS = 10;
/** So many failures of a vendor end the growing, though never the reply. */
const MOST_FAILURES = 3;
const STEP_MS = 20_000;
/** A run that waits for a slot for this long is not indicated any more. */
const TYPING_MS = 10 * 60_000;
/** Where there is no indication, a message says after this time that a reply will come. */
const PLACEHOLDER_MS = 2000;
const PLACEHOLDER: Piece = { text: '…', plain: '…' };
/** A preview vanishes after 30 s. */
const PREVIEW_MS = 20_000;
/** At the end of a message that is not complete. */
const MORE = ' …';

interface GrowingParts extends Pick<WorkerParts, 'database' | 'hold' | 'channel' | 'signal' | 'logger'> {
  pace: Pace;
  link(): ChannelLink | undefined;
  /** It needs another turn to show everything. */
  again(): void;
  /** It ended without being settled. */
  over(): void;
}

/**
 * A reply that people watch grow. Its beginning is in messages that are edited, or in a preview where the vendor has one; each
 * step shows one change. The ids of its messages are recorded before the next one is sent, so the final text replaces theirs even
 * if a different scheduler sends it.
 */
export class ShownReply implements FollowedReply {
  readonly question_id: string;
  readonly run_id: string;
  readonly channel_id: string;
  readonly user_id: string;
  readonly #set: GrowingReply;
  readonly #parts: GrowingParts;
  readonly #begun = performance.now();
  #text = new ReplyText();
  #said = '';
  /** The vendor's ids of the messages sent so far, and what they show. */
  readonly #sent: { id: string; text: string }[];
  #previewed = { text: '', at: -Infinity };
  #working: Promise<void> | null = null;
  #failures = 0;
  #closed = false;
  #typedAt = -Infinity;
  /** The vendor has no indication of typing here. */
  #cannotType = false;

  constructor(reply: GrowingReply, parts: GrowingParts) {
    this.#set = reply;
    this.#parts = parts;
    this.question_id = reply.question_id;
    this.run_id = reply.run_id;
    this.user_id = reply.user_id;
    this.channel_id = parts.hold.channel_id;
    this.#sent = reply.parts.map((id) => ({ id, text: '' }));
  }

  takeTurn(): boolean {
    const link = this.#parts.link();
    if (this.#closed || this.#working !== null || link === undefined) return false;
    // First words are a message, of which there may be more than edits.
    const between_ms = this.#sent.length === 0 ? 0 : link.limits.between_ms;
    return this.#parts.pace.takeStep(this.#set.conversation, { ...link.limits, between_ms });
  }

  take(entries: readonly SpokenEntry[]): void {
    for (const entry of entries) this.#said += this.#text.take(entry);
    if (this.#said !== '') this.#work(async (link, signal) => this.#step(link, signal));
    else if (this.#wantsPlaceholder())
      this.#work(async (link, signal) => this.#send(link, PLACEHOLDER, signal));
  }

  over(): void {
    this.#closed = true;
    this.#parts.over();
  }

  /** Call now and then, until there are words. */
  indicate(): void {
    const link = this.#parts.link();
    const now = performance.now();
    if (link === undefined || this.#said !== '' || this.#sent.length > 0) return;
    if (now - this.#begun > TYPING_MS || this.#parts.pace.quiet_ms > 0) return;
    // Sent only after a look at the reply, which may have ended.
    if (this.#wantsPlaceholder()) this.#parts.again();
    else if (!this.#cannotType && now - this.#typedAt > link.limits.typing_ms) {
      this.#typedAt = now;
      this.#work(async (to, signal) => {
        this.#cannotType = !(await to.typing(this.#set, signal));
      });
    }
  }

  #wantsPlaceholder(): boolean {
    return this.#cannotType && this.#sent.length === 0 && performance.now() - this.#begun > PLACEHOLDER_MS;
  }

  /** Ends the growing. @returns the messages that show its beginning */
  async settle(): Promise<string[]> {
    this.#closed = true;
    await this.#working;
    return this.#sent.map(({ id }) => id);
  }

  #work(act: (link: ChannelLink, signal: AbortSignal) => Promise<void>): void {
    const { signal, logger, pace } = this.#parts;
    const link = this.#parts.link();
    if (this.#closed || link === undefined) return;
    if (this.#working !== null) return this.#parts.again();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(STEP_MS)]);
    this.#working = act(link, limit)
      .catch((error: unknown) => {
        if (signal.aborted) return;
        const pause_sec = error instanceof ChannelFailure ? error.pause_sec : null;
        if (pause_sec !== null) pace.quietFor(pause_sec);
        this.#failures += 1;
        this.#cannotType ||= error instanceof ChannelFailure && error.hopeless;
        if (this.#failures >= MOST_FAILURES) this.#closed = true;
        else this.#parts.again();
        logger.info('a reply in progress could not be shown', { run_id: this.run_id, error });
      })
      .finally(() => {
        this.#working = null;
      });
  }

  /** Shows one change; what remains gets another turn. */
  async #step(link: ChannelLink, signal: AbortSignal): Promise<void> {
    const pieces = piecesOf(this.#parts.channel.kind as ChannelKind, this.#said, '…');
    if (pieces.length > MOST_PARTS) {
      this.#closed = true;
      return;
    }
    const last = pieces.length - 1;
    for (let at = Math.max(0, this.#sent.length - 1); at <= last; at += 1) {
      const piece = at === last ? unfinished(pieces[at]!) : pieces[at]!;
      const shown = this.#sent[at];
      if (shown?.text === piece.text) continue;
      if (shown !== undefined) {
        await link.change(this.#set.conversation, shown.id, piece, signal);
        shown.text = piece.text;
      } else if (at === last && (await this.#preview(link, at, pieces[at]!, signal))) return;
      else await this.#send(link, piece, signal);
      if (at < last) this.#parts.again();
      return;
    }
  }

  async #preview(link: ChannelLink, at: number, piece: Piece, signal: AbortSignal): Promise<boolean> {
    const { text, at: since } = this.#previewed;
    if (text === piece.text && performance.now() - since < PREVIEW_MS) return true;
    const isShown = await link.preview(this.#set, previewId(this.question_id, at), piece, signal);
    if (isShown) this.#previewed = { text: piece.text, at: performance.now() };
    return isShown;
  }

  async #send(link: ChannelLink, piece: Piece, signal: AbortSignal): Promise<void> {
    const { conversation, thread, reply_to } = this.#set;
    const first = this.#sent.length === 0;
    const spoken = { conversation, thread, reply_to: first ? reply_to : null, piece, buttons: [] };
    this.#sent.push({ id: await link.speak(spoken, signal), text: piece.text });
    const { database, hold } = this.#parts;
    const ids = this.#sent.map(({ id }) => id);
    // Without a record another holder would say it all again.
    if (!(await recordDraft(database.db, hold, this.question_id, ids))) this.#closed = true;
  }
}

const unfinished = ({ text, plain }: Piece): Piece => ({ text: `${text}${MORE}`, plain: `${plain}${MORE}` });

/** The same for everyone who shows this part of the reply; a positive 32-bit integer. */
const previewId = (question_id: string, at: number): number =>
  ((Number.parseInt(question_id.replaceAll('-', '').slice(-7), 16) + at) % 0x7f_ff_ff_ff) + 1;

import { setTimeout as pause } from 'node:timers/promises';
import {
  buttonValue,
  type DueOutgoing,
  dueOutgoing,
  nextOutgoingIn,
  type Piece,
  piecesOf,
  recordOutcome,
  recordPiece,
} from '@acp/core';
import type { ChannelKind } from '@acp/contract';
import { ChannelFailure, type ChannelLink, type Spoken } from './channel-link.ts';
import type { WorkerParts } from './channel-parts.ts';
import type { Pace } from './pace.ts';

const AT_ONCE = 20;
/** Conversations served at the same time: the vendor limits each one, and all of them together. */
const CONVERSATIONS = 4;
const RETRY_MS = 5000;
/** Per piece, including the wait for its turn. */
const PIECE_MS = 2000;
const SPEAK_MS = 30_000;
const LONGEST_REST_MS = 60_000;

interface OutgoingParts extends WorkerParts {
  pace: Pace;
  /** Stops showing a reply in progress; see `GrowthWorker`. */
  settle(question_id: string): Promise<string[] | undefined>;
}

/** Sends queued messages: those of a conversation in order, a long one in pieces. */
export class OutgoingWorker {
  readonly #parts: OutgoingParts;
  #link: ChannelLink | undefined;
  #working: Promise<void> | null = null;
  #again = false;
  #rest: NodeJS.Timeout | undefined;

  constructor(parts: OutgoingParts) {
    this.#parts = parts;
  }

  use(link: ChannelLink): void {
    this.#link = link;
  }

  kick(): void {
    this.#again = true;
    if (this.#working !== null || this.#parts.signal.aborted || this.#link === undefined) return;
    this.#working = this.#work().finally(() => {
      this.#working = null;
    });
  }

  async stop(): Promise<void> {
    clearTimeout(this.#rest);
    await this.#working;
  }

  async #work(): Promise<void> {
    const { database, hold, signal, logger, pace } = this.#parts;
    clearTimeout(this.#rest);
    try {
      let due: DueOutgoing[] = [];
      do {
        this.#again = false;
        if (pace.quiet_ms > 0) await pause(pace.quiet_ms, undefined, { signal });
        due = await dueOutgoing(database.db, hold, AT_ONCE);
        await this.#sayAll(due);
      } while ((this.#again || due.length > 0) && !signal.aborted);
      const in_ms = await nextOutgoingIn(database.db, hold);
      // Word that came during this last look may be of a message that it did not see.
      if (this.#again) this.#kickIn(0);
      else if (in_ms !== null) this.#kickIn(in_ms);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn('an outgoing channel message could not be sent', { error });
      this.#kickIn(RETRY_MS);
    }
  }

  #kickIn(ms: number): void {
    const wait = Math.min(Math.max(ms, 50), LONGEST_REST_MS);
    if (!this.#parts.signal.aborted) this.#rest = setTimeout(() => this.kick(), wait).unref();
  }

  async #sayAll(due: readonly DueOutgoing[]): Promise<void> {
    const lines = [...Map.groupBy(due, ({ conversation }) => conversation).values()];
    const next = async (): Promise<void> => {
      for (let line = lines.shift(); line !== undefined; line = lines.shift())
        for (const message of line) if (!(await this.#say(message))) break;
    };
    // All of them end before anything is read again: what is being said would be said twice.
    const ends = await Promise.allSettled(Array.from({ length: CONVERSATIONS }, next));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** @returns false if the messages after it in its conversation must wait */
  async #say(message: DueOutgoing): Promise<boolean> {
    const { database, hold, signal, logger, pace } = this.#parts;
    if (signal.aborted || pace.quiet_ms > 0) return false;
    try {
      if (!message.allowed)
        throw new ChannelFailure('whom it was for is not paired any more', { hopeless: true });
      await this.#utter(message);
      await recordOutcome(database.db, hold, message.id, { error: null });
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof ChannelFailure)) throw error;
      const { message: words, hopeless, pause_sec } = error;
      if (pause_sec !== null) pace.quietFor(pause_sec);
      logger.info('a message of a channel could not be sent', { outgoing_id: message.id, error: words });
      await recordOutcome(database.db, hold, message.id, { error: words, hopeless, pause_sec });
      return hopeless;
    }
  }

  async #utter(message: DueOutgoing): Promise<void> {
    const { channel, signal } = this.#parts;
    const { conversation, kind, body, changes, question_id } = message;
    const shown = question_id === null ? [] : ((await this.#parts.settle(question_id)) ?? message.parts);
    const isEmpty = body === null || body.trim() === '';
    const pieces = isEmpty ? [] : piecesOf(channel.kind as ChannelKind, body, REST);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(SPEAK_MS + pieces.length * PIECE_MS)]);
    if (kind === 'outcome') {
      // A message that was never sent has no buttons to remove.
      if (changes !== null && !isEmpty) await this.#link!.change(conversation, changes, pieces[0]!, limit);
      return;
    }
    // Messages keep their order: after one that must be sent anew, so must all.
    const anew = pieces.findIndex((piece) => !this.#link!.canChangeTo(piece));
    const kept = anew === -1 ? pieces.length : anew;
    await this.#sayPieces(message, pieces, shown.slice(0, kept), limit);
    for (const id of shown.slice(kept)) await this.#remove(conversation, id, limit);
  }

  async #sayPieces(
    { id, conversation, thread, kind, reply_to, sent_parts }: DueOutgoing,
    pieces: readonly Piece[],
    shown: readonly string[],
    limit: AbortSignal,
  ): Promise<void> {
    const { database, hold, pace, signal } = this.#parts;
    for (const [at, piece] of pieces.entries()) {
      if (at < sent_parts) continue;
      await pace.waitTurn(conversation, signal);
      const isLast = at === pieces.length - 1;
      const buttons = kind === 'approval' && isLast ? buttonsOf(id) : [];
      const spoken = { conversation, thread, reply_to: at === 0 ? reply_to : null, piece, buttons };
      const external_id = await this.#sayPiece(spoken, shown[at], limit);
      pace.wrote(conversation);
      // For an approval, keep the vendor's id of the piece with the buttons.
      const kept = kind !== 'approval' || isLast ? external_id : null;
      if (!(await recordPiece(database.db, hold, id, at + 1, kept)))
        throw new ChannelFailure('the channel is held by another', { hopeless: true });
    }
  }

  /** Completes the message that shows its beginning; sends a new one if there is none, or if that can't be changed any more. */
  async #sayPiece(spoken: Spoken, shown: string | undefined, limit: AbortSignal): Promise<string> {
    if (shown !== undefined)
      try {
        await this.#link!.change(spoken.conversation, shown, spoken.piece, limit);
        return shown;
      } catch (error) {
        if (!(error instanceof ChannelFailure && error.hopeless)) throw error;
      }
    return this.#link!.speak(spoken, limit);
  }

  /** What was shown and is no longer part of the reply. */
  async #remove(conversation: string, message_id: string, limit: AbortSignal): Promise<void> {
    const { pace, signal, logger } = this.#parts;
    await pace.waitTurn(conversation, signal);
    await this.#link!.remove(conversation, message_id, limit).catch((error: unknown) => {
      if (!(error instanceof ChannelFailure && error.hopeless)) throw error;
      logger.info('a message that is void could not be deleted', { error });
    });
  }
}

const REST = '… It goes on: the chat’s page in the service has all of it.';

const buttonsOf = (id: string) => [
  { label: 'Approve', value: buttonValue(id, 'approve'), danger: false },
  { label: 'Reject', value: buttonValue(id, 'reject'), danger: true },
];

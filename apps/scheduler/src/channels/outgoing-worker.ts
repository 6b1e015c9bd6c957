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
import { ChannelFailure, type ChannelLink } from './channel-link.ts';
import type { WorkerParts } from './channel-parts.ts';

const AT_ONCE = 20;
/** Conversations served at the same time: the vendor limits each one, and all of them together. */
const CONVERSATIONS = 4;
/** Pause between two messages to one conversation: vendors require a second. */
const BETWEEN_MS = 1000;
const SPEAK_MS = 30_000;
const LONGEST_REST_MS = 60_000;

/** Sends queued messages: those of a conversation in order, a long one in pieces. */
export class OutgoingWorker {
  readonly #parts: WorkerParts;
  #link: ChannelLink | undefined;
  #working: Promise<void> | null = null;
  #again = false;
  #rest: NodeJS.Timeout | undefined;
  /** The vendor asked us to pause until then. */
  #quietUntil = 0;
  readonly #spokeAt = new Map<string, number>();

  constructor(parts: WorkerParts) {
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
    const { database, hold, signal, logger } = this.#parts;
    clearTimeout(this.#rest);
    try {
      let due: DueOutgoing[] = [];
      do {
        this.#again = false;
        const quiet = this.#quietUntil - Date.now();
        if (quiet > 0) await pause(quiet, undefined, { signal });
        due = await dueOutgoing(database.db, hold, AT_ONCE);
        await this.#sayAll(due);
      } while ((this.#again || due.length > 0) && !signal.aborted);
      const in_ms = await nextOutgoingIn(database.db, hold);
      if (in_ms !== null) this.#kickIn(in_ms);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn('an outgoing channel message could not be sent', { error });
      this.#kickIn(BETWEEN_MS * 5);
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
    await Promise.all(Array.from({ length: CONVERSATIONS }, next));
  }

  /** @returns false if the messages after it in its conversation must wait */
  async #say(message: DueOutgoing): Promise<boolean> {
    const { database, hold, signal, logger } = this.#parts;
    if (signal.aborted || this.#quietUntil > Date.now()) return false;
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
      if (pause_sec !== null) this.#quietUntil = Date.now() + pause_sec * 1000;
      logger.info('a message of a channel could not be sent', { outgoing_id: message.id, error: words });
      await recordOutcome(database.db, hold, message.id, { error: words, hopeless, pause_sec });
      return hopeless;
    }
  }

  async #utter(message: DueOutgoing): Promise<void> {
    const { channel, signal } = this.#parts;
    const { id, conversation, thread, kind, body, reply_to, sent_parts, changes } = message;
    if (body === null || body.trim() === '') return;
    const pieces = piecesOf(channel.kind as ChannelKind, body, REST);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(SPEAK_MS + pieces.length * BETWEEN_MS * 2)]);
    if (kind === 'outcome') {
      // A message that was never sent has no buttons to remove.
      if (changes !== null) await this.#change(conversation, changes, pieces[0]!, limit);
      return;
    }
    for (const [at, piece] of pieces.entries()) {
      if (at < sent_parts) continue;
      await this.#waitTurn(conversation);
      const isLast = at === pieces.length - 1;
      const buttons = kind === 'approval' && isLast ? buttonsOf(id) : [];
      const spoken = { conversation, thread, reply_to: at === 0 ? reply_to : null, piece, buttons };
      const external_id = await this.#link!.speak(spoken, limit);
      this.#spokeAt.set(conversation, Date.now());
      // For an approval, keep the vendor's id of the piece with the buttons.
      const kept = kind !== 'approval' || isLast ? external_id : null;
      const { database, hold } = this.#parts;
      if (!(await recordPiece(database.db, hold, id, at + 1, kept)))
        throw new ChannelFailure('the channel is held by another', { hopeless: true });
    }
  }

  /** A message that the person has deleted, or that already has this text, counts as changed. */
  async #change(conversation: string, message_id: string, piece: Piece, limit: AbortSignal): Promise<void> {
    await this.#link!.change(conversation, message_id, piece, limit);
  }

  async #waitTurn(conversation: string): Promise<void> {
    const { signal } = this.#parts;
    const wait = (this.#spokeAt.get(conversation) ?? 0) + BETWEEN_MS - Date.now();
    if (wait > 0) await pause(wait, undefined, { signal });
    if (this.#spokeAt.size > 1000) this.#spokeAt.clear();
  }
}

const REST = '… It goes on: the chat’s page in the service has all of it.';

const buttonsOf = (id: string) => [
  { label: 'Approve', value: buttonValue(id, 'approve'), danger: false },
  { label: 'Reject', value: buttonValue(id, 'reject'), danger: true },
];

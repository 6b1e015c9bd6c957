import type { ChannelFile, ChannelIncoming } from '@acp/contract';
import type { Piece } from '@acp/core';

/** Whatever a vendor asks for: a timer of more than 24 days would fire at once. */
const LONGEST_PAUSE_SEC = 3600;

/** Why communication with a vendor failed. The message is written for people and contains no token. */
export class ChannelFailure extends Error {
  /** The vendor rejects the token. */
  readonly refused: boolean;
  /** The same request would be rejected again. */
  readonly hopeless: boolean;
  /** How long the vendor asks us to wait; at most an hour. */
  readonly pause_sec: number | null;
  /** The vendor itself reported the failure: the network path works. */
  readonly answered: boolean;

  constructor(
    message: string,
    {
      refused = false,
      hopeless = false,
      pause_sec = null,
      answered = false,
    }: Partial<Pick<ChannelFailure, 'refused' | 'hopeless' | 'pause_sec' | 'answered'>> = {},
  ) {
    super(message);
    this.name = 'ChannelFailure';
    this.refused = refused;
    this.hopeless = hopeless;
    this.pause_sec = pause_sec === null ? null : Math.min(Math.max(pause_sec, 0), LONGEST_PAUSE_SEC);
    this.answered = answered;
  }
}

export interface Spoken {
  conversation: string;
  thread: string;
  reply_to: string | null;
  piece: Piece;
  buttons: readonly { label: string; value: string; danger: boolean }[];
}

/** What a link reports about what it receives. */
export interface LinkEvents {
  /** Resolves true once the messages are stored: only then is their receipt acknowledged to the vendor. */
  store(came: ChannelIncoming[], update_offset: number | null): Promise<boolean>;
  /** Something was received. */
  seen(): void;
  /** The connection is established. */
  connected(bot: { id: string; name: string }): void;
}

/** A place where a reply is being written. */
export type WritingPlace = Pick<Spoken, 'conversation' | 'thread'>;

/** How often a growing reply may be shown, well within the vendor's limits: messages come first. */
export interface WritingLimits {
  /** Between two steps in this conversation. */
  step_ms(conversation: string): number;
  /** Between any two steps of the channel. */
  between_ms: number;
  /** How long an indication of typing stays visible. */
  typing_ms: number;
}

/** How far the updates of a bot have been received. Each bot counts its own. */
export interface ReceivedUpTo {
  /** Null: none has been connected. */
  bot_id: string | null;
  update_offset: number;
}

/** A connection to a vendor with one company's tokens. Every method throws ChannelFailure. */
export interface ChannelLink {
  readonly limits: WritingLimits;
  /** Receives until the signal aborts or an error is thrown. */
  receive(events: LinkEvents, last: ReceivedUpTo, signal: AbortSignal): Promise<void>;
  /** @returns the vendor's id of the message */
  speak(spoken: Spoken, signal: AbortSignal): Promise<string>;
  /** Indicates that a reply is being written. @returns false if the vendor has no such indication here */
  typing(place: WritingPlace, signal: AbortSignal): Promise<boolean>;
  /**
   * Shows a text that isn't a message and vanishes by itself.
   * @param id of the text that it replaces, an integer above 0 @returns false if the vendor has nothing like it here
   */
  preview(place: WritingPlace, id: number, piece: Piece, signal: AbortSignal): Promise<boolean>;
  /** Whether `change` shows the piece as `speak` does. */
  canChangeTo(piece: Piece): boolean;
  /** Replaces the text of a message and removes its buttons. Nothing happens if it has this text already. */
  change(conversation: string, message_id: string, piece: Piece, signal: AbortSignal): Promise<void>;
  /** Deletes a message of the bot. */
  remove(conversation: string, message_id: string, signal: AbortSignal): Promise<void>;
  /** Shows the outcome to the person who pressed a button. */
  answer(callback: string, text: string, signal: AbortSignal): Promise<void>;
  /** The bytes of a file attached to a message. */
  fetchFile(file: ChannelFile, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

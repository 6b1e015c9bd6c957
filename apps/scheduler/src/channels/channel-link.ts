import type { ChannelFile, ChannelIncoming } from '@acp/contract';
import type { Piece } from '@acp/core';

/** Why communication with a vendor failed. The message is written for people and contains no token. */
export class ChannelFailure extends Error {
  /** The vendor rejects the token. */
  readonly refused: boolean;
  /** The same request would be rejected again. */
  readonly hopeless: boolean;
  /** How long the vendor asks us to wait. */
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
    this.pause_sec = pause_sec;
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

/** A connection to a vendor with one company's tokens. Every method throws ChannelFailure. */
export interface ChannelLink {
  /** Receives until the signal aborts or an error is thrown. */
  receive(events: LinkEvents, update_offset: number, signal: AbortSignal): Promise<void>;
  /** @returns the vendor's id of the message */
  speak(spoken: Spoken, signal: AbortSignal): Promise<string>;
  /** Replaces the text of a message and removes its buttons. */
  change(conversation: string, message_id: string, piece: Piece, signal: AbortSignal): Promise<void>;
  /** Shows the outcome to the person who pressed a button. */
  answer(callback: string, text: string, signal: AbortSignal): Promise<void>;
  /** The bytes of a file attached to a message. */
  fetchFile(file: ChannelFile, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

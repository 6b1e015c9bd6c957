import type { ChannelFile, ChannelIncoming } from '@acp/contract';
import type { Piece } from '@acp/core';

/** Why a vendor could not be spoken with. Its message is for people and holds no token. */
export class ChannelFailure extends Error {
  /** The vendor does not take the token. */
  readonly refused: boolean;
  /** The same again would be refused again. */
  readonly hopeless: boolean;
  /** How long the vendor wants to be left alone. */
  readonly pause_sec: number | null;
  /** It was the vendor who said so: the way there is open. */
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

/** What a link tells of what it receives. */
export interface LinkEvents {
  /** Stored when it resolves true: only then is the vendor told that it has arrived. */
  store(came: ChannelIncoming[], update_offset: number | null): Promise<boolean>;
  /** Anything came. */
  seen(): void;
  /** The line stands. */
  connected(bot: { id: string; name: string }): void;
}

/** A connection with a vendor, with one company's tokens. All of it throws ChannelFailure. */
export interface ChannelLink {
  /** Receives until the signal aborts, or throws. */
  receive(events: LinkEvents, update_offset: number, signal: AbortSignal): Promise<void>;
  /** @returns the vendor's id of the message */
  speak(spoken: Spoken, signal: AbortSignal): Promise<string>;
  /** Puts other words in the place of a message, without its buttons. */
  change(conversation: string, message_id: string, piece: Piece, signal: AbortSignal): Promise<void>;
  /** Tells whoever pressed a button what came of it. */
  answer(callback: string, text: string, signal: AbortSignal): Promise<void>;
  /** The bytes of a file that a message brought. */
  fetchFile(file: ChannelFile, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
}

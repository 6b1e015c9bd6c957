/** Script of the model endpoint for chats: every reply begins with the moment at which its first word was sent. */
import type { FakeModelReply, FakeModelRequest } from '@acp/testkit';
import { machineNow } from './statistics.ts';

/** A reply that goes on for long, a piece every so many milliseconds. */
export const LONG = 'Talk for long';
const PIECE_MS = 200;
const PIECES = 300;

export function script({ messages }: FakeModelRequest): FakeModelReply {
  const long = messages.at(-1)?.content.startsWith(LONG) === true;
  const rest = Array.from({ length: long ? PIECES : 2 }, (_, n) => `word ${n} of many, `);
  return { chunks: [`[[${machineNow()}]] `, ...rest], chunk_delay_ms: PIECE_MS };
}

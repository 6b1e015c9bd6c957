/** Script of the model endpoint for chats: every reply starts with the time at which its first word was sent. */
import type { FakeModelReply, FakeModelRequest } from '@acp/testkit';
import { machineNow } from './statistics.ts';

/** Requests a long reply, sent in chunks at a fixed interval. */
export const LONG = 'Talk for long';
const PIECE_MS = 200;
const PIECES = 300;

export function script({ messages }: FakeModelRequest): FakeModelReply {
  const long = messages.at(-1)?.content.startsWith(LONG) === true;
  const rest = Array.from({ length: long ? PIECES : 2 }, (_, n) => `word ${n} of many, `);
  return { chunks: [`[[${machineNow()}]] `, ...rest], chunk_delay_ms: PIECE_MS };
}

import { invalid, isUuid } from '@acp/kernel';

/** A reader's position in a reply: nothing up to here is sent again. */
export interface Place {
  message_id: string;
  /** The run whose text was sent; null: none yet. */
  run_id: string | null;
  /** The transcript entry, and the position within its frames. */
  seq: number;
  part: number;
}

/** Past the last frame. */
export const END = 2_147_483_647;

export function frameId({ message_id, run_id, seq, part }: Place): string {
  return `${message_id}.${run_id ?? 0}.${seq}.${part}`;
}

/** Parses the `Last-Event-ID` of a reconnecting reader; null for a new one. @throws invalid for another stream's */
export function parseFrameId(header: string | undefined): Place | null {
  if (header === undefined || header === '') return null;
  const [message_id = '', run = '', seq = '', part = '', ...rest] = header.split('.');
  const numbers = [seq, part].every((word) => /^\d{1,10}$/.test(word));
  if (!isUuid(message_id) || !(run === '0' || isUuid(run)) || !numbers || rest.length > 0)
    throw invalid('Last-Event-ID does not belong to this stream');
  return { message_id, run_id: run === '0' ? null : run, seq: Number(seq), part: Number(part) };
}

/** Server-sent event frames as text, built once and written to every reader (decisions 4). */
import { type LiveEvent, liveName } from '@acp/contract';
import type { SequencedEvent, TranscriptEntry } from '@acp/core';

/** Longest text of one transcript frame, in bytes; longer output is split over several with the same `seq`. */
const MAX_TEXT = 16_384;
const encoder = new TextEncoder();

/**
 * Null for what is not sent to live streams. `occurred_at` of events from before a restart of the hub is a Date too:
 * rows come from the database alone.
 */
export function eventFrame(event: SequencedEvent): string | null {
  const type = liveName(event.type);
  if (type === null) return null;
  const data: LiveEvent = {
    id: event.id,
    type,
    company_id: event.company_id,
    occurred_at: event.occurred_at,
    data: event.data as Record<string, unknown>,
  };
  return `id: ${event.seq}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Frames without `id:`: a gap is filled from the events routes by `seq`. */
export function transcriptFrames(entry: TranscriptEntry): string {
  const { run_id, company_id, seq, kind, created_at } = entry;
  return splitPayload(entry.payload)
    .map((payload) => {
      const data: LiveEvent = {
        id: run_id,
        type: 'run_event',
        company_id,
        occurred_at: created_at,
        data: { run_id, seq, kind, payload },
      };
      return `event: run_event\ndata: ${JSON.stringify(data)}\n\n`;
    })
    .join('');
}

/** A payload with a long `text` as several with a part of it each, in order, cut between characters. */
function splitPayload(payload: Record<string, unknown>): Record<string, unknown>[] {
  const { text } = payload;
  if (typeof text !== 'string' || Buffer.byteLength(text) <= MAX_TEXT) return [payload];
  const parts: Record<string, unknown>[] = [];
  const room = new Uint8Array(MAX_TEXT);
  for (let start = 0; start < text.length;) {
    // Whole characters only: what is left of a pair at the end of the slice would take more bytes than there are.
    const { read } = encoder.encodeInto(text.slice(start, start + MAX_TEXT), room);
    parts.push({ ...payload, text: text.slice(start, start + read), part: parts.length });
    start += read;
  }
  return parts;
}

/** What was missed is not replayed any more: the client reads its lists again. */
export const RESET_FRAME = 'event: reset\ndata: {}\n\n';
export const HEARTBEAT_FRAME = ':\n\n';
/** First words of a stream: how long to wait before a reconnect. */
export const HELLO_FRAME = 'retry: 2000\n: connected\n\n';

/** Spread over some seconds, so that a restart is not followed by all clients at once. */
export function closingFrame(jitter: number): string {
  return `retry: ${Math.round(500 + jitter * 4500)}\n: restarting\n\n`;
}

/** Server-sent event frames as text, built once and written to every reader (decisions 4). */
import { type LiveEvent, liveName } from '@acp/contract';
import type { SequencedEvent, TranscriptEntry } from '@acp/core';
import { newId } from '@acp/kernel';

/** Maximum text of one transcript frame, in bytes; longer output is split into several frames with the same `seq`. */
const MAX_TEXT = 16_384;
const encoder = new TextEncoder();

/**
 * Null for events that are not sent to live streams. `occurred_at` is a Date even for events from before a restart of the
 * hub, since rows are always read from the database.
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

/** Frames without `id:`: clients fill gaps from the events routes by `seq`. */
export function transcriptFrames(entry: TranscriptEntry): string {
  const { run_id, company_id, seq, kind, created_at } = entry;
  return splitPayload(entry.payload)
    .map((payload) => {
      const data: LiveEvent = {
        id: newId(),
        type: 'run_event',
        company_id,
        occurred_at: created_at,
        data: { run_id, seq, kind, payload },
      };
      return `event: run_event\ndata: ${JSON.stringify(data)}\n\n`;
    })
    .join('');
}

/** Splits a payload with a long `text` into several, in order, never within a character. */
function splitPayload(payload: Record<string, unknown>): Record<string, unknown>[] {
  const { text } = payload;
  if (typeof text !== 'string' || Buffer.byteLength(text) <= MAX_TEXT) return [payload];
  const parts: Record<string, unknown>[] = [];
  const room = new Uint8Array(MAX_TEXT);
  for (let start = 0; start < text.length;) {
    // Whole characters only: half of a surrogate pair at the end of the slice would need more bytes than there are.
    const { read } = encoder.encodeInto(text.slice(start, start + MAX_TEXT), room);
    parts.push({ ...payload, text: text.slice(start, start + read), part: parts.length });
    start += read;
  }
  return parts;
}

/** Missed events can't be replayed any more: the client must reload its lists. @param seq the event after which nothing is missing */
export const resetFrame = (seq: number): string => `id: ${seq}\nevent: reset\ndata: {}\n\n`;
/** Sets what a reader sends as `Last-Event-ID`; without `data` no event is dispatched (HTML standard, 9.2.6). */
export const positionFrame = (seq: number): string => `id: ${seq}\n\n`;
export const HEARTBEAT_FRAME = ':\n\n';
/** Start of a stream: sets the delay before a reconnect. */
export const HELLO_FRAME = 'retry: 2000\n: connected\n\n';

/** Spreads reconnects over a few seconds, so that a restart does not bring all clients back at the same time. */
export function closingFrame(jitter: number): string {
  return `retry: ${Math.round(500 + jitter * 4500)}\n: restarting\n\n`;
}

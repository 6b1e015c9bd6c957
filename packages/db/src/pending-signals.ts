import { WILDCARD } from './signal-channels.ts';
import type { SignalChannel } from './signal-channels.ts';

// NOTIFY accepts payloads below 8000 bytes.
const MAX_PAYLOAD_BYTES = 7900;
// Bounds memory during a long outage of the database: beyond this, listeners are told to read everything again.
const MAX_CHARS_PER_CHANNEL = 1_000_000;

/** Signals not sent yet; bounded by collapsing a channel to the wildcard item. Order within a channel is kept. */
export class PendingSignals {
  private readonly channels = new Map<SignalChannel, { items: Set<string>; chars: number }>();

  get empty(): boolean {
    return this.channels.size === 0;
  }

  add(channel: SignalChannel, items: Iterable<string>): void {
    let entry = this.channels.get(channel);
    if (entry === undefined) {
      entry = { items: new Set(), chars: 0 };
      this.channels.set(channel, entry);
    }
    for (const item of items) {
      if (entry.items.has(WILDCARD)) return;
      if (entry.items.has(item)) continue;
      entry.chars += item.length;
      if (entry.chars > MAX_CHARS_PER_CHANNEL || payloadBytes([item]) > MAX_PAYLOAD_BYTES) {
        entry.items = new Set([WILDCARD]);
      } else {
        entry.items.add(item);
      }
    }
  }

  /** Returns everything and empties it. */
  take(): Map<SignalChannel, string[]> {
    const taken = new Map([...this.channels].map(([channel, { items }]) => [channel, [...items]]));
    this.channels.clear();
    return taken;
  }
}

function payloadBytes(items: string[]): number {
  return Buffer.byteLength(JSON.stringify(items));
}

/** The items as JSON arrays, in order, each within NOTIFY's limit. */
export function payloadsOf(items: readonly string[]): string[] {
  const payloads: string[] = [];
  let part: string[] = [];
  let bytes = 2;
  for (const item of items) {
    const itemBytes = payloadBytes([item]) - 1;
    if (part.length > 0 && bytes + itemBytes > MAX_PAYLOAD_BYTES) {
      payloads.push(JSON.stringify(part));
      part = [];
      bytes = 2;
    }
    part.push(item);
    bytes += itemBytes;
  }
  if (part.length > 0) payloads.push(JSON.stringify(part));
  return payloads;
}

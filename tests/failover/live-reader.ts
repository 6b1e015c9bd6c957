/** A reader of the live stream that behaves like a browser: reconnects with the last number it has seen. */
import { setTimeout as delay } from 'node:timers/promises';
import { EventSourceParserStream } from 'eventsource-parser/stream';

export interface LiveReader {
  /** Issue ids by the number of the event that reported their creation. */
  created: Map<number, string>;
  /** How many numbers arrived that had arrived before. */
  repeated(): number;
  resets(): number;
  reconnects(): number;
  close(): Promise<void>;
}

export function readLive(url: string, cookie: string): LiveReader {
  const created = new Map<number, string>();
  const over = new AbortController();
  let last = '';
  let [repeated, resets, connections] = [0, 0, 0];

  async function readOnce(): Promise<void> {
    const response = await fetch(`${url}/api/live/events`, {
      headers: { cookie, accept: 'text/event-stream', ...(last === '' ? {} : { 'last-event-id': last }) },
      signal: over.signal,
    });
    if (!response.ok || response.body === null) return;
    connections += 1;
    const frames = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const { event, id, data } of frames) {
      if (event === 'reset') resets += 1;
      if (id === undefined) continue;
      last = id;
      if (event !== 'issue_created') continue;
      if (created.has(Number(id))) repeated += 1;
      created.set(Number(id), (JSON.parse(data) as { data: { id: string } }).data.id);
    }
  }

  async function read(): Promise<void> {
    while (!over.signal.aborted) {
      await readOnce().catch(() => undefined);
      await delay(100, undefined, { signal: over.signal }).catch(() => undefined);
    }
  }

  const reading = read();
  return {
    created,
    repeated: () => repeated,
    resets: () => resets,
    reconnects: () => connections - 1,
    async close() {
      over.abort();
      await reading;
    },
  };
}

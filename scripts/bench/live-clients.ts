/**
 * Many readers of the live stream in a single separate process. On `{url, keys, clients}` it opens the streams, cycling
 * through the keys, and reports `open`; on `{commits}` (time by issue id) it reports each frame's latency at each reader.
 */
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { machineNow } from './statistics.ts';

interface Opening {
  url: string;
  keys: readonly string[];
  clients: number;
}

interface Question {
  commits: Record<string, number>;
}

/** Arrival times by marker, across all readers. */
const arrivals = new Map<string, number[]>();
const streams: IncomingMessage[] = [];

async function open({ url, keys, clients }: Opening): Promise<void> {
  for (let n = 0; n < clients; n += 1) {
    const request = get(`${url}/api/live/events`, {
      agent: false,
      headers: { authorization: `Bearer ${keys[n % keys.length]}`, accept: 'text/event-stream' },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(`the live stream answered ${response.statusCode}`);
    response.setEncoding('utf8');
    response.on('data', note);
    streams.push(response);
  }
  process.send?.('open');
}

function note(text: string): void {
  for (const [, marker] of text.matchAll(/"title":"(mark-[^"]+)"/g)) {
    const moments = arrivals.get(marker!);
    if (moments === undefined) arrivals.set(marker!, [machineNow()]);
    else moments.push(machineNow());
  }
}

function answer({ commits }: Question): void {
  const latencies = Object.entries(commits).flatMap(([marker, moment]) =>
    (arrivals.get(marker) ?? []).map((arrival) => arrival - moment),
  );
  process.send?.({ latencies });
}

process.on('message', (message: Opening | Question) => {
  if ('commits' in message) answer(message);
  else void open(message);
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');

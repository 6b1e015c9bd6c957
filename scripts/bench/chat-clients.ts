/**
 * Readers of chat replies in a separate process. On `{url, keys, chats, body}` each sends the body to its chat by
 * `messages/stream`, a few at a time, and reports how long each first delta took to arrive from the model, in milliseconds.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { machineNow } from './statistics.ts';

interface Order {
  url: string;
  keys: readonly string[];
  chats: readonly string[];
  body: string;
  pause_ms: number;
}

async function firstDelta(url: string, key: string, chat: string, body: string): Promise<number> {
  const asked = request(`${url}/api/chats/${chat}/messages/stream`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  asked.end(JSON.stringify({ body_markdown: body }));
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the stream answered ${response.statusCode}`);
  response.setEncoding('utf8');
  return new Promise((resolve, reject) => {
    let text = '';
    response.on('data', (piece: string) => {
      if (text === null) return;
      text = `${text}${piece}`.slice(-20_000);
      const [, sent] = /\[\[([\d.]+)\]\]/.exec(text) ?? [];
      if (sent !== undefined) resolve(machineNow() - Number(sent));
    });
    response.on('close', () => reject(new Error(`a stream ended without a word: ${text.slice(-500)}`)));
  });
}

async function work({ url, keys, chats, body, pause_ms }: Order): Promise<void> {
  const waiting: Promise<number>[] = [];
  for (const [n, chat] of chats.entries()) {
    waiting.push(firstDelta(url, keys[n % keys.length]!, chat, body));
    await delay(pause_ms);
  }
  process.send?.({ latencies: await Promise.all(waiting) });
}

process.on('message', (order: Order) => {
  work(order).catch((error: unknown) => process.send?.({ error: String(error) }));
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');

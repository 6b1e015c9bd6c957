import { expect, it } from '@jest/globals';
import { boundedFetch, ServerFault } from './bounded-fetch.ts';

const bounds = { max_bytes: 1_000_000, max_messages: 100, max_requests: 1, max_ms: 60_000 };

/** What a client reads of an event stream that arrives in pieces of so many bytes. */
async function readOf(stream: string, size: number): Promise<string> {
  const bytes = Buffer.from(stream);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  const headers = { 'content-type': 'text/event-stream' };
  const send = async () => new Response(ReadableStream.from(pieces), { headers });
  return (await boundedFetch(send, bounds, () => undefined)('http://server')).text();
}

const [open, close] = ['['.repeat(50), ']'.repeat(50)];

it.each([
  ['a comment', `data: ${open}\n: ${close}\ndata: ${open}${close}${close}\n\n`],
  ['another field', `data: ${open}\r\nevent: ${close}\r\ndata: ${open}${close}${close}\r\n\r\n`],
  [
    'a field that is called almost alike',
    `data: ${open}\ndatas: ${close}\ndata: ${open}${close}${close}\n\n`,
  ],
  ['a mark of the byte order', `data: ${open}\n\uFEFFdata: ${close}\ndata: ${open}${close}${close}\n\n`],
  ['nothing, after such a mark', `\uFEFFdata: ${open}\ndata: ${open}${close}${close}\n\n`],
  ['nothing', `data:${open}\rdata:${open}${close}${close}\r\r`],
])('refuses data that is nested too deeply with %s in between', async (_what, stream) => {
  for (const size of [1, 7, 1000]) await expect(readOf(stream, size)).rejects.toThrow(ServerFault);
});

it('passes on what only its brackets outside of the data would make too deep', async () => {
  const stream = `: ${open}\nevent: ${open}\ndata: ${open}${close}\n\nid: ${open}\ndata: {"a":\ndata: "${open}"}\n\n`;
  for (const size of [1, 7, 1000]) expect(await readOf(stream, size)).toBe(stream);
});

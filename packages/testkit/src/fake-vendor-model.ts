// The endpoints that the two real CLIs call: the messages endpoint of the first, the responses endpoint of the second.
// Streams the same text to both, with fixed token counts. For tests with the real programs only.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface VendorRequest {
  kind: 'messages' | 'responses';
  /** The API key it was sent with. */
  key: string;
  body: Record<string, unknown>;
}

export interface FakeVendorModel {
  url: string;
  requests: VendorRequest[];
  close(): Promise<void>;
}

/** Text, a shell command, or a refusal. */
export type VendorAnswer = string | { command: string } | { status: number; message: string };

/** Tokens of every answer: fresh input, written to and read from the cache, and output. */
export const vendorUsage = { fresh: 100, written: 20, cached: 30, output: 7 };

export async function startFakeVendorModel(
  answer: (request: VendorRequest) => VendorAnswer | Promise<VendorAnswer>,
): Promise<FakeVendorModel> {
  const requests: VendorRequest[] = [];
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(incoming);
    const path = new URL(incoming.url ?? '/', 'http://fake').pathname;
    const kind = path.endsWith('/messages') ? 'messages' : path.endsWith('/responses') ? 'responses' : null;
    if (incoming.method !== 'POST' || kind === null)
      return sendJson(response, 404, { error: { message: path } });
    const { authorization = '', 'x-api-key': key = authorization } = incoming.headers;
    const request = { kind, key: String(key), body: JSON.parse(text) as Record<string, unknown> } as const;
    requests.push(request);
    const said = await answer(request);
    if (typeof said !== 'string' && 'status' in said) {
      const error = { type: 'invalid_request_error', message: said.message };
      return sendJson(response, said.status, { type: 'error', error });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events =
      kind === 'messages' ? messageEvents(requests.length, said) : responseEvents(requests.length, said);
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the fake model has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

interface StreamEvent {
  type: string;
  [field: string]: unknown;
}

function messageEvents(n: number, said: string | { command: string }): StreamEvent[] {
  const { fresh, written, cached, output } = vendorUsage;
  const input = {
    input_tokens: fresh,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
  };
  const message = {
    id: `msg_${n}`,
    type: 'message',
    role: 'assistant',
    model: 'fake-model',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...input, output_tokens: 1 },
  };
  const [content_block, delta, stop_reason] =
    typeof said === 'string'
      ? [{ type: 'text', text: '' }, { type: 'text_delta', text: said }, 'end_turn']
      : [
          { type: 'tool_use', id: `toolu_${n}`, name: 'Bash', input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify({ command: said.command }) },
          'tool_use',
        ];
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null },
      usage: { ...input, output_tokens: output },
    },
    { type: 'message_stop' },
  ];
}

function responseEvents(n: number, said: string | { command: string }): StreamEvent[] {
  const { fresh, written, cached, output } = vendorUsage;
  const input_tokens = fresh + written + cached;
  const item =
    typeof said === 'string'
      ? {
          type: 'message',
          id: `item_${n}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: said, annotations: [] }],
        }
      : {
          type: 'function_call',
          id: `item_${n}`,
          call_id: `call_${n}`,
          name: 'exec_command',
          arguments: JSON.stringify({ cmd: said.command }),
        };
  return [
    { type: 'response.created', response: { id: `resp_${n}`, status: 'in_progress', output: [] } },
    { type: 'response.output_item.done', output_index: 0, item },
    {
      type: 'response.completed',
      response: {
        id: `resp_${n}`,
        status: 'completed',
        output: [item],
        usage: {
          input_tokens,
          input_tokens_details: { cached_tokens: cached },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: input_tokens + output,
        },
      },
    },
  ];
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

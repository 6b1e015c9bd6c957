/**
 * The demo's model: a chat-completions endpoint in a separate process that answers from a script. It takes the place of a
 * vendor's endpoint and is not part of the service. Exits with its parent.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { answer } from './answers.ts';
import type { ChatMessage } from './read-prompt.ts';

const SCRIPTED_MODEL = 'scripted-model';
/** Delay between words: just slow enough to read along. */
const WORD_DELAY_MS = 12;
const CHARACTERS_PER_TOKEN = 4;

interface ChatRequest {
  messages: ChatMessage[];
  stream: boolean;
  wants_usage: boolean;
}

const tokens = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);
/** Earlier system prompts: their tokens count as cached, as with a vendor. */
const known = new Set<string>();

function usageOf({ messages }: ChatRequest, text: string): object {
  const system = messages.find(({ role }) => role === 'system')?.content ?? '';
  const cached = known.has(system) ? tokens(system) : 0;
  known.add(system);
  const read = messages.reduce((sum, { content }) => sum + tokens(content), 0);
  return {
    prompt_tokens: read,
    completion_tokens: tokens(text),
    total_tokens: read + tokens(text),
    prompt_tokens_details: { cached_tokens: cached },
  };
}

async function readChat(request: IncomingMessage): Promise<ChatRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body: { messages?: unknown; stream?: unknown; stream_options?: { include_usage?: unknown } } =
    JSON.parse(Buffer.concat(chunks).toString('utf8'));
  const messages = Array.isArray(body.messages) ? body.messages : [];
  return {
    messages: messages.map(({ role, content }) => ({ role: String(role), content: textOf(content) })),
    stream: body.stream === true,
    wants_usage: body.stream_options?.include_usage === true,
  };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts: { text?: unknown }[] = Array.isArray(content) ? content : [];
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}

const common = { id: 'chatcmpl-demo', created: 0, model: SCRIPTED_MODEL };

const choice = (delta: object, finish_reason: string | null): object => ({
  choices: [{ index: 0, delta, finish_reason }],
});

async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chat = await readChat(request);
  const text = answer(chat.messages);
  if (!chat.stream) {
    const message = { role: 'assistant', content: text };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    return sendJson(response, 200, {
      ...common,
      object: 'chat.completion',
      choices,
      usage: usageOf(chat, text),
    });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const send = (fields: object): void => {
    response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', ...fields })}\n\n`);
  };
  for (const piece of text.match(/\s*\S+/g) ?? []) {
    if (response.destroyed) return;
    send(choice({ role: 'assistant', content: piece }, null));
    await delay(WORD_DELAY_MS);
  }
  send(choice({}, 'stop'));
  if (chat.wants_usage) send({ choices: [], usage: usageOf(chat, text) });
  response.end('data: [DONE]\n\n');
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function route(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '/';
  if (request.method === 'GET' && path === '/v1/models') {
    return sendJson(response, 200, { object: 'list', data: [{ id: SCRIPTED_MODEL, object: 'model' }] });
  }
  if (request.method !== 'POST' || path !== '/v1/chat/completions') {
    return sendJson(response, 404, { error: { message: `no route ${request.method} ${path}` } });
  }
  complete(request, response).catch((error: unknown) => {
    if (response.headersSent) response.destroy();
    else sendJson(response, 400, { error: { message: String(error) } });
  });
}

if (import.meta.main) {
  const server = createServer(route).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  process.on('disconnect', () => process.exit(0));
  process.send?.(`http://127.0.0.1:${port}/v1`);
}

// A scripted OpenAI-compatible model endpoint: the fake at the edge of every test, demo and benchmark that runs an
// agent. Speaks chat completions, plain and streamed, keeps a journal, and fails on command. Runs inside the calling
// process (`startFakeModel`) or as its own (`forkFakeModel`), where its work must not be counted as the service's.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

/** The parts of a request's body that the endpoint reads; the journal keeps the rest as received. */
export interface ChatBody {
  stream_options?: { include_usage?: unknown } | null;
  [field: string]: unknown;
}

export interface FakeModelRequest {
  /** Counts all completion requests, starting at 1. */
  n: number;
  model: string;
  /** Content made of several parts is joined into one text. */
  messages: { role: string; content: string }[];
  stream: boolean;
  headers: IncomingHttpHeaders;
  body: ChatBody;
  /** Milliseconds since the epoch when the request had been read. */
  received_at: number;
  state: 'open' | 'answered' | 'aborted';
}

export interface FakeModelReply {
  /** The whole answer; streamed in chunks of 64 characters. Default `ok`. */
  text?: string;
  /** The streamed chunks, in place of `text`. */
  chunks?: string[];
  /** Default: a quarter of the characters. Null: no usage is reported. */
  usage?: { input_tokens?: number; output_tokens?: number; cached_tokens?: number } | null;
  finish_reason?: string;
  /** Anything but 200 responds with `error`. */
  status?: number;
  error?: { message: string; type?: string; code?: string };
  retry_after?: string | number;
  headers?: Record<string, string>;
  delay_ms?: number;
  chunk_delay_ms?: number;
  /** Awaited before the reply is marked complete. */
  until?: Promise<void>;
  /** Goes silent with the connection open: before the headers, after them, or after the last chunk. */
  stall?: 'headers' | 'body' | 'end';
  /** Stops before the finish: `end` closes cleanly, `reset` destroys the connection. */
  cut?: 'end' | 'reset';
}

export type FakeModelScript = (
  request: FakeModelRequest,
) => FakeModelReply | string | Promise<FakeModelReply | string>;

export interface FakeModelOptions {
  script?: FakeModelScript;
  port?: number;
  models?: string[];
  /** If set, other bearer tokens get 401. */
  api_key?: string;
  /** Answers embeddings; without it the route does not exist. If it throws, the response is 500. */
  embed?: (texts: string[], model: string) => number[][];
  /** Number of most recent requests the journal keeps (default 10,000). */
  journal_limit?: number;
}

export interface FakeModel {
  /** The base URL, ending in `/v1`. */
  url: string;
  requests: FakeModelRequest[];
  /** Number of requests so far, including those dropped from the journal. */
  count(): number;
  setScript(script: FakeModelScript): void;
  close(): Promise<void>;
}

const pieceLength = 64;

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => (typeof part.text === 'string' ? part.text : '')).join('');
}

async function readJson(request: IncomingMessage): Promise<ChatBody> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

function piecesOf(reply: FakeModelReply): string[] {
  if (reply.chunks !== undefined) return reply.chunks;
  const text = reply.text ?? 'ok';
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieceLength) pieces.push(text.slice(at, at + pieceLength));
  return pieces;
}

function usageOf(request: FakeModelRequest, reply: FakeModelReply, text: string): unknown {
  if (reply.usage === null) return null;
  const read = request.messages.reduce((sum, { content }) => sum + content.length, 0);
  const input = reply.usage?.input_tokens ?? Math.ceil(read / 4);
  const output = reply.usage?.output_tokens ?? Math.ceil(text.length / 4);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: reply.usage?.cached_tokens ?? 0 },
  };
}

async function sendStream(
  response: ServerResponse,
  request: FakeModelRequest,
  reply: FakeModelReply,
): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    ...reply.headers,
  });
  if (reply.stall === 'body') return response.flushHeaders();
  const pieces = piecesOf(reply);
  const base = {
    id: `chatcmpl-${request.n}`,
    object: 'chat.completion.chunk',
    created: 0,
    model: request.model,
  };
  const frame = (fields: object) => `data: ${JSON.stringify({ ...base, ...fields })}\n\n`;
  const pieceFrame = (content: string, finish: string | null = null) =>
    frame({
      choices: [
        { index: 0, delta: finish === null ? { role: 'assistant', content } : {}, finish_reason: finish },
      ],
    });
  let pending = '';
  for (const [index, piece] of pieces.entries()) {
    pending += pieceFrame(piece);
    if (reply.chunk_delay_ms === undefined) continue;
    if (index > 0) await pause(response, reply.chunk_delay_ms);
    if (response.destroyed) return;
    response.write(pending);
    pending = '';
  }
  await reply.until;
  if (reply.stall === 'end') return void response.write(pending);
  if (reply.cut === 'reset') return void response.write(pending, () => response.destroy());
  if (reply.cut === 'end') return void response.end(pending);
  pending += pieceFrame('', reply.finish_reason ?? 'stop');
  const asked = request.body.stream_options?.include_usage === true;
  const usage = asked ? usageOf(request, reply, pieces.join('')) : null;
  if (usage !== null) pending += frame({ choices: [], usage });
  response.end(`${pending}data: [DONE]\n\n`);
}

function sendPlain(response: ServerResponse, request: FakeModelRequest, reply: FakeModelReply): void {
  if (reply.stall !== undefined) {
    response.writeHead(200, { 'content-type': 'application/json', ...reply.headers });
    return response.flushHeaders();
  }
  const content = piecesOf(reply).join('');
  const choice = {
    index: 0,
    message: { role: 'assistant', content },
    finish_reason: reply.finish_reason ?? 'stop',
  };
  const usage = usageOf(request, reply, content) ?? undefined;
  const body = {
    id: `chatcmpl-${request.n}`,
    object: 'chat.completion',
    created: 0,
    model: request.model,
    choices: [choice],
    usage,
  };
  sendJson(response, 200, body, reply.headers);
}

/** Ends with the connection: a timer would keep the process of a finished test. */
async function pause(response: ServerResponse, ms: number): Promise<void> {
  const gone = new AbortController();
  const end = () => gone.abort();
  response.once('close', end);
  await delay(ms, undefined, { signal: gone.signal }).catch(() => undefined);
  response.off('close', end);
}

async function sendReply(
  response: ServerResponse,
  request: FakeModelRequest,
  reply: FakeModelReply,
): Promise<void> {
  if (reply.delay_ms !== undefined) await pause(response, reply.delay_ms);
  if (reply.stall === 'headers' || response.destroyed) return;
  if (reply.status !== undefined && reply.status !== 200) {
    const headers = { ...reply.headers };
    if (reply.retry_after !== undefined) headers['retry-after'] = String(reply.retry_after);
    const error = { message: `scripted status ${reply.status}`, type: 'error', code: null, ...reply.error };
    return sendJson(response, reply.status, { error }, headers);
  }
  if (request.stream) await sendStream(response, request, reply);
  else sendPlain(response, request, reply);
}

async function embed(
  incoming: IncomingMessage,
  response: ServerResponse,
  compute: NonNullable<FakeModelOptions['embed']>,
): Promise<void> {
  try {
    const { input, model } = await readJson(incoming);
    const texts = Array.isArray(input) ? input.map(String) : [String(input)];
    const data = compute(texts, String(model)).map((embedding, index) => ({
      object: 'embedding',
      index,
      embedding,
    }));
    const tokens = Math.ceil(texts.join('').length / 4);
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    sendJson(response, 200, { object: 'list', model, data, usage });
  } catch (error) {
    sendJson(response, 500, { error: { message: String(error), type: 'script' } });
  }
}

async function readRequest(incoming: IncomingMessage, n: number): Promise<FakeModelRequest> {
  const body = await readJson(incoming);
  const messages = Array.isArray(body['messages']) ? body['messages'] : [];
  return {
    n,
    model: String(body['model']),
    messages: messages.map(({ role, content }) => ({ role: String(role), content: textOf(content) })),
    stream: body['stream'] === true,
    headers: incoming.headers,
    body,
    received_at: Date.now(),
    state: 'open',
  };
}

/** Starts the endpoint on loopback. A script that throws results in a 500 with its message. */
export async function startFakeModel(options: FakeModelOptions = {}): Promise<FakeModel> {
  const { models = ['fake-model'], journal_limit: limit = 10_000 } = options;
  let script = options.script ?? (() => 'ok');
  let count = 0;
  const requests: FakeModelRequest[] = [];

  async function complete(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming, (count += 1));
    requests.push(request);
    // Trimmed by half: shifting one by one would make a long benchmark quadratic.
    if (requests.length > limit * 2) requests.splice(0, requests.length - limit);
    response.on('close', () => (request.state = response.writableFinished ? 'answered' : 'aborted'));
    const reply = await script(request);
    await sendReply(response, request, typeof reply === 'string' ? { text: reply } : reply);
  }

  function route(incoming: IncomingMessage, response: ServerResponse): void {
    const path = incoming.url ?? '/';
    const authorized =
      options.api_key === undefined || incoming.headers.authorization === `Bearer ${options.api_key}`;
    if (path === '/journal') return sendJson(response, 200, { count, requests });
    if (!authorized)
      return sendJson(response, 401, { error: { message: 'Incorrect API key provided', type: 'auth' } });
    if (incoming.method === 'GET' && path.endsWith('/models')) {
      return sendJson(response, 200, { object: 'list', data: models.map((id) => ({ id, object: 'model' })) });
    }
    if (incoming.method === 'POST' && path.endsWith('/embeddings') && options.embed !== undefined) {
      void embed(incoming, response, options.embed);
      return;
    }
    if (incoming.method !== 'POST' || !path.endsWith('/chat/completions')) {
      return sendJson(response, 404, { error: { message: `no route ${incoming.method} ${path}` } });
    }
    complete(incoming, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error), type: 'script' } });
    });
  }

  const server = createServer(route);
  // Longer than any client keeps an idle connection, so no request ever hits a closing one.
  server.keepAliveTimeout = 120_000;
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the fake model has no port');
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    requests,
    count: () => count,
    setScript: (next) => (script = next),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export interface ForkedFakeModel {
  url: string;
  pid: number;
  journal(): Promise<{ count: number; requests: FakeModelRequest[] }>;
  close(): Promise<void>;
}

/**
 * Starts the endpoint in its own process, which exits with this one. `script_module` is a file that exports `script`;
 * without it every answer is `text`, after `delay_ms`.
 */
export async function forkFakeModel(
  options: { port?: number; script_module?: string; text?: string; delay_ms?: number } = {},
): Promise<ForkedFakeModel> {
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const child = fork(fileURLToPath(import.meta.url), args, { execArgv: [] });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message) => resolve(typeof message === 'string' ? message : ''));
    child.once('exit', () => reject(new Error('the fake model did not start')));
  });
  return {
    url,
    pid: child.pid!,
    async journal() {
      const response = await fetch(new URL('/journal', url));
      const journal: { count: number; requests: FakeModelRequest[] } = JSON.parse(await response.text());
      return journal;
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function main(): Promise<void> {
  const string = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { port: string, script_module: string, text: string, delay_ms: string },
  });
  const module =
    values.script_module === undefined ? null : await import(pathToFileURL(values.script_module).href);
  const delayMs = values.delay_ms === undefined ? {} : { delay_ms: Number(values.delay_ms) };
  const fixed: FakeModelReply = { text: values.text ?? 'ok', ...delayMs };
  const model = await startFakeModel({
    port: Number(values.port ?? 0),
    script: module?.script ?? (() => fixed),
  });
  const stop = () => {
    void model.close();
    // An open channel to the parent would keep this process alive.
    if (process.connected) process.disconnect();
  };
  process.once('SIGTERM', stop).once('SIGINT', stop).once('disconnect', stop);
  if (process.send === undefined) process.stdout.write(`${model.url}\n`);
  else process.send(model.url);
}

if (import.meta.main) await main();

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';

type Json = Record<string, unknown>;

export interface Press {
  channel: string;
  message: Json & { ts: string };
  user: string;
  action: Json;
}

export interface SocketModeRelay {
  url: string;
  /** Passes the person's message on to the stand-in, and the stand-in's record of it to the app. */
  says(token: string, channel: string, words: string): Promise<{ channel: string; ts: string }>;
  /** Slack's own shape of a press, on a message as the stand-in holds it. */
  presses(press: Press): void;
  /** Methods that the app called and the stand-in refused, with its error. */
  refused: string[];
  close(): Promise<void>;
}

/**
 * The stand-in for Slack has its Web API but not socket mode: this relay opens the WebSocket, and passes everything else on
 * unchanged. What it sends over the socket are messages as the stand-in stored them.
 */
export async function startSocketModeRelay(stand_in: string): Promise<SocketModeRelay> {
  const refused: string[] = [];
  let last = 0;
  let bot = '';
  const server = createServer((request, response) => void relay(request, response));
  const sockets = new WebSocketServer({ server, path: '/link' });
  const pings = setInterval(() => {
    for (const socket of sockets.clients) socket.ping();
  }, 1000);
  sockets.on('connection', (socket: WebSocket) =>
    socket.send(JSON.stringify({ type: 'hello', num_connections: sockets.clients.size })),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function call(method: string, headers: Record<string, string>, body: string): Promise<Json> {
    const answer = await fetch(`${stand_in}/api/${method}`, { method: 'POST', headers, body });
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    // The vendor says so; the stand-in has no page of that name.
    return isJson ? ((await answer.json()) as Json) : { ok: false, error: 'unknown_method' };
  }
  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = (request.url ?? '').replace('/api/', '');
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const body = await text(request);
    const answer =
      method === 'apps.connections.open'
        ? { ok: authorization.startsWith('Bearer xapp-'), url: `ws://${origin}/link` }
        : await call(method, { authorization, 'content-type': type }, body);
    if (method === 'auth.test') bot = String(answer.user_id);
    if (answer.ok !== true) refused.push(`${method}: ${String(answer.error)}`);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }
  function send(type: string, payload: Json): void {
    const envelope = {
      envelope_id: `envelope-${(last += 1)}`,
      type,
      accepts_response_payload: false,
      payload,
    };
    for (const socket of sockets.clients) return socket.send(JSON.stringify(envelope));
  }
  return {
    url: `http://${origin}/api`,
    refused,
    async says(token, to, words) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ channel: to, text: words });
      const posted = await call('chat.postMessage', headers, body);
      if (posted.ok !== true) throw new Error(`the person’s message was refused: ${String(posted.error)}`);
      const { channel, ts, message } = posted as { channel: string; ts: string; message: Json };
      const is_im = channel.startsWith('D');
      const event = { ...message, channel, event_ts: ts, channel_type: is_im ? 'im' : 'channel' };
      const arrive = (type: string): void =>
        send('events_api', {
          type: 'event_callback',
          event_id: `Ev${(last += 1)}`,
          event: { ...event, type },
        });
      arrive('message');
      if (!is_im && words.includes(`<@${bot}>`)) arrive('app_mention');
      return { channel, ts };
    },
    presses: ({ channel, message, user, action }) =>
      send('interactive', {
        type: 'block_actions',
        user: { id: user },
        channel: { id: channel },
        container: { type: 'message', message_ts: message.ts, channel_id: channel },
        message,
        actions: [action],
      }),
    async close() {
      clearInterval(pings);
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';

interface Parameter {
  name: string;
  type: string;
  required: boolean;
}
/** Excerpt of Slack's own description of its Web API (see `info` there): parameters of the methods called. */
const description = JSON.parse(readFileSync(join(import.meta.dirname, 'slack-api.json'), 'utf8')) as {
  methods: Record<string, Parameter[]>;
};

interface SlackMessage extends Record<string, unknown> {
  channel: string;
  ts: string;
  text: string;
}
interface Envelope {
  envelope_id: string;
  type: string;
  payload: Record<string, unknown>;
}

/** Slack for one app in socket mode: unacknowledged events are sent again, to whichever client connects next. */
export interface FakeSlack {
  url: string;
  bot_token: string;
  app_token: string;
  messages: SlackMessage[];
  calls: { method: string; body: Record<string, unknown> }[];
  complaints: string[];
  says(user: string, text: string, more?: Record<string, unknown>): void;
  presses(user: string, ts: string, label: string): void;
  /** Sets the next response of a method. */
  refuse(
    method: string,
    status: number,
    body: Record<string, unknown>,
    headers?: Record<string, string>,
  ): void;
  /** Resends the event acknowledged last, as Slack does when an acknowledgement is lost. */
  repeat(): void;
  /** Asks the app to reconnect, as Slack does every hour or so. */
  disconnect(): void;
  sockets(): number;
  close(): Promise<void>;
}

const [BOT_TOKEN, APP_TOKEN, BOT] = ['xoxb-fake-bot', 'xapp-fake-app', 'UBOT'];
const PING_MS = 500;
/** A new message may be longer. */
const LONGEST_EDIT = 4000;

interface State extends Pick<FakeSlack, 'messages' | 'calls' | 'complaints'> {
  unacknowledged: Envelope[];
  acknowledged: Envelope[];
  refusals: { method: string; status: number; body: object; headers: Record<string, string> }[];
  last: number;
  url: string;
  stamp: () => string;
  sockets: WebSocketServer;
}

export async function startFakeSlack(): Promise<FakeSlack> {
  const server = createServer();
  const sockets = new WebSocketServer({ server, path: '/link' });
  const state: State = {
    messages: [],
    calls: [],
    complaints: [],
    unacknowledged: [],
    acknowledged: [],
    refusals: [],
    last: 0,
    url: '',
    stamp: () => `1700000000.${String((state.last += 1)).padStart(6, '0')}`,
    sockets,
  };
  sockets.on('connection', (socket) => serve(state, socket));
  server.on('request', answering(state, methodsOf(state)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`;
  const { messages, calls, complaints, url } = state;
  return {
    messages,
    calls,
    complaints,
    url,
    ...actsOf(state),
    bot_token: BOT_TOKEN,
    app_token: APP_TOKEN,
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

function serve({ unacknowledged, acknowledged }: State, socket: WebSocket): void {
  socket.send(JSON.stringify({ type: 'hello', num_connections: 1 }));
  for (const envelope of unacknowledged) socket.send(JSON.stringify(envelope));
  const pings = setInterval(() => socket.ping(), PING_MS);
  socket.on('close', () => clearInterval(pings));
  socket.on('message', (data: Buffer) => {
    const { envelope_id } = JSON.parse(data.toString('utf8')) as { envelope_id: string };
    const at = unacknowledged.findIndex((each) => each.envelope_id === envelope_id);
    if (at >= 0) acknowledged.push(...unacknowledged.splice(at, 1));
  });
}

type Acts = Pick<FakeSlack, 'says' | 'presses' | 'refuse' | 'repeat' | 'disconnect' | 'sockets'>;

function actsOf(state: State): Acts {
  const open = (): WebSocket[] => [...state.sockets.clients].filter(({ readyState }) => readyState === 1);
  const deliver = (envelope: Envelope): void => open()[0]?.send(JSON.stringify(envelope));
  function arrive(type: string, payload: Record<string, unknown>): void {
    const envelope = { envelope_id: `envelope-${(state.last += 1)}`, type, payload };
    state.unacknowledged.push(envelope);
    deliver(envelope);
  }
  return {
    says(user, text, more = {}) {
      const message = {
        type: 'message',
        channel_type: 'im',
        user,
        text,
        channel: `D${user}`,
        ts: state.stamp(),
      };
      const event = { ...message, ...more };
      arrive('events_api', { type: 'event_callback', event_id: `Ev${(state.last += 1)}`, event });
    },
    presses(user, ts, label) {
      const message = state.messages.find((each) => each.ts === ts)!;
      const blocks = message.blocks as { elements?: { text: { text: string }; value: string }[] }[];
      const button = blocks.flatMap(({ elements = [] }) => elements).find(({ text }) => text.text === label)!;
      const shown = { channel: { id: message.channel }, message: { ts } };
      arrive('interactive', { type: 'block_actions', user: { id: user }, ...shown, actions: [button] });
    },
    refuse: (method, status, body, headers = {}) =>
      void state.refusals.push({ method, status, body, headers }),
    repeat: () => deliver({ ...state.acknowledged.at(-1)!, envelope_id: `envelope-${(state.last += 1)}` }),
    disconnect() {
      const text = JSON.stringify({ type: 'disconnect', reason: 'refresh_requested' });
      for (const socket of open()) socket.send(text);
    },
    sockets: () => open().length,
  };
}

type Methods = Record<string, (body: Record<string, unknown>) => object>;

function methodsOf(state: State): Methods {
  const { messages, stamp } = state;
  return {
    'auth.test': () => ({ ok: true, user_id: BOT, user: 'bot', team_id: 'T1' }),
    'apps.connections.open': () => ({
      ok: true,
      url: `${state.url.replace('http', 'ws').replace('/api', '')}/link`,
    }),
    'chat.postMessage'(body) {
      const to = String(body.channel);
      // A message to a user id is delivered to the direct message channel with that user.
      const channel = to.startsWith('U') ? `D${to}` : to;
      const message = { ...body, channel, ts: stamp(), text: String(body.text) };
      messages.push(message);
      return { ok: true, channel, ts: message.ts };
    },
    'chat.update'({ channel, ts, text, blocks }) {
      const message = messages.find((each) => each.ts === ts && each.channel === channel);
      if (message === undefined) return { ok: false, error: 'message_not_found' };
      if (String(text).length > LONGEST_EDIT) return { ok: false, error: 'msg_too_long' };
      Object.assign(message, { text: String(text), blocks });
      return { ok: true, channel, ts };
    },
    'chat.delete'({ channel, ts }) {
      const at = messages.findIndex((each) => each.ts === ts && each.channel === channel);
      if (at < 0) return { ok: false, error: 'message_not_found' };
      messages.splice(at, 1);
      return { ok: true, channel, ts };
    },
    'assistant.threads.setStatus': () => ({ ok: true }),
    'chat.postEphemeral': () => ({ ok: true, message_ts: stamp() }),
  };
}

function answering(state: State, methods: Methods) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    void (async () => {
      const method = (request.url ?? '').replace('/api/', '');
      const body = (await json(request)) as Record<string, unknown>;
      state.calls.push({ method, body });
      const at = state.refusals.findIndex((each) => each.method === method);
      const refused = at < 0 ? undefined : state.refusals.splice(at, 1)[0];
      const token = request.headers.authorization;
      const wanted = method === 'apps.connections.open' ? APP_TOKEN : BOT_TOKEN;
      state.complaints.push(...wrongIn(method, { ...body, token }));
      const answer =
        token === `Bearer ${wanted}`
          ? (methods[method]?.(body) ?? { ok: false, error: 'unknown_method' })
          : { ok: false, error: 'invalid_auth' };
      const headers = { 'content-type': 'application/json', ...refused?.headers };
      response.writeHead(refused?.status ?? 200, headers).end(JSON.stringify(refused?.body ?? answer));
    })();
  };
}

/** The description is too old to know `apps.connections.open`. Blocks are JSON of any shape. */
function wrongIn(method: string, body: Record<string, unknown>): string[] {
  const parameters = description.methods[method];
  if (parameters === undefined)
    return method === 'apps.connections.open' ? [] : [`${method}: there is no such method`];
  const known = new Map(parameters.map((each) => [each.name, each]));
  const missing = parameters.filter(({ name, required }) => required && body[name] === undefined);
  return [
    ...missing.map(({ name }) => `${method}.${name} is missing`),
    ...Object.entries(body).flatMap(([name, value]) => {
      const parameter = known.get(name);
      if (parameter === undefined) return [`${method}.${name} is not known`];
      return name === 'blocks' || typeof value === parameter.type
        ? []
        : [`${method}.${name} is no ${parameter.type}`];
    }),
  ];
}

import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';

interface Field {
  name: string;
  types: string[];
  required: boolean;
}
/** Excerpt of the public description of the Bot API (see `info` there): the methods called, and their fields. */
const description = JSON.parse(readFileSync(join(import.meta.dirname, 'telegram-api.json'), 'utf8')) as {
  methods: Record<string, Field[]>;
  types: Record<string, Field[]>;
};

export interface TelegramCall {
  method: string;
  body: Record<string, unknown>;
}
interface BotMessage extends Record<string, unknown> {
  message_id: number;
  chat_id: string;
  text: string;
}

/** Telegram's Bot API for one bot: keeps updates until they are requested with a higher offset, as Telegram does. */
export interface FakeTelegram {
  url: string;
  /** The bot's messages in their current state. */
  messages: BotMessage[];
  /** What was last shown of messages in preparation, by conversation. */
  drafts: Map<string, { draft_id: number; text: string }>;
  calls: TelegramCall[];
  /** Parts of calls that the description does not allow. */
  complaints: string[];
  /** Sends a message from a person to the bot, in private or in a group. */
  says(user_id: number, text: string, more?: Record<string, unknown>): number;
  /** Presses a button of a message on behalf of a person. */
  presses(user_id: number, message_id: number, label: string): void;
  /** Queues a response to use instead of the regular one; each is used once. */
  refuse(method: string, status: number, body: Record<string, unknown>): void;
  /** Bytes that `getFile` leads to. */
  files: Map<string, Buffer>;
  close(): Promise<void>;
}

const TOKEN = '123:fake-token';

interface State extends Pick<FakeTelegram, 'messages' | 'drafts' | 'calls' | 'complaints' | 'files'> {
  updates: { update_id: number; [name: string]: unknown }[];
  refusals: { method: string; status: number; body: Record<string, unknown> }[];
  wakers: Set<() => void>;
  last: number;
  polls: number;
}

export async function startFakeTelegram(): Promise<FakeTelegram & { token: string }> {
  const state: State = {
    messages: [],
    drafts: new Map(),
    calls: [],
    complaints: [],
    files: new Map(),
    updates: [],
    refusals: [],
    wakers: new Set(),
    last: 1000,
    polls: 0,
  };
  const server = createServer(answering(state, methodsOf(state)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { messages, drafts, calls, complaints, files } = state;
  return {
    messages,
    drafts,
    calls,
    complaints,
    files,
    ...actsOf(state),
    token: TOKEN,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      for (const wake of state.wakers) wake();
    },
  };
}

function actsOf(state: State): Pick<FakeTelegram, 'says' | 'presses' | 'refuse'> {
  function arrive(update: State['updates'][number]): void {
    state.updates.push(update);
    for (const wake of state.wakers) wake();
  }
  return {
    says(user_id, text, more = {}) {
      const id = (state.last += 1);
      const message = {
        message_id: id,
        date: 0,
        from: person(user_id),
        chat: { id: user_id, type: 'private' },
        text,
      };
      arrive({ update_id: id, message: { ...message, ...more } });
      return id;
    },
    presses(user_id, message_id, label) {
      const id = (state.last += 1);
      const message = state.messages.find((each) => each.message_id === message_id)!;
      const markup = message.reply_markup as { inline_keyboard: { text: string; callback_data: string }[][] };
      const { callback_data: data } = markup.inline_keyboard.flat().find(({ text }) => text === label)!;
      const shown = { message_id, date: 0, chat: { id: Number(message.chat_id), type: 'private' } };
      const query = { id: String(id), from: person(user_id), chat_instance: 'x', data, message: shown };
      arrive({ update_id: id, callback_query: query });
    },
    refuse: (method, status, body) => void state.refusals.push({ method, status, body }),
  };
}

type Methods = Record<string, (body: Record<string, unknown>, request: IncomingMessage) => unknown>;

function methodsOf(state: State): Methods {
  const { updates, messages, drafts } = state;
  return {
    getMe: () => ({ id: 123, is_bot: true, first_name: 'Bot', username: 'fake_bot' }),
    async getUpdates({ offset = 0, timeout = 0 }, request) {
      // An offset acknowledges every update below it.
      while (updates.length > 0 && updates[0]!.update_id < Number(offset)) updates.shift();
      const mine = (state.polls += 1);
      if (updates.length === 0) await waitForOne(Number(timeout) * 1000, state.wakers, request);
      // Of two concurrent polls the first is dismissed.
      return mine === state.polls ? updates.slice(0, 100) : undefined;
    },
    sendMessage(body) {
      if (isTooLong(body.text)) return undefined;
      const message_id = (state.last += 1);
      // A message takes the place of what was shown of it.
      drafts.delete(String(body.chat_id));
      messages.push({ ...body, message_id, chat_id: String(body.chat_id), text: String(body.text) });
      return { message_id, date: 0, chat: { id: Number(body.chat_id), type: 'private' } };
    },
    editMessageText({ chat_id, message_id, text }) {
      const message = messages.find((each) => each.message_id === message_id);
      if (message === undefined || message.chat_id !== String(chat_id) || isTooLong(text)) return undefined;
      if (message.text === text && message.reply_markup === undefined)
        return { refused: 'Bad Request: message is not modified' };
      Object.assign(message, { text: String(text), reply_markup: undefined });
      return true;
    },
    sendMessageDraft({ chat_id, draft_id, text = '' }) {
      if (Number(chat_id) <= 0 || draft_id === 0 || isTooLong(text)) return undefined;
      drafts.set(String(chat_id), { draft_id: Number(draft_id), text: String(text) });
      return true;
    },
    sendChatAction: () => true,
    deleteMessage({ message_id }) {
      const at = messages.findIndex((each) => each.message_id === message_id);
      return at < 0 ? undefined : messages.splice(at, 1).length > 0;
    },
    answerCallbackQuery: () => true,
    getFile: ({ file_id }) => ({
      file_id,
      file_unique_id: file_id,
      file_path: `documents/${String(file_id)}`,
    }),
  };
}

function answering(state: State, methods: Methods) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const send = (status: number, body: unknown): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const [, kind, token, rest = ''] = /^\/(bot|file\/bot)([^/]+)\/(.*)$/.exec(request.url ?? '') ?? [];
    if (token !== TOKEN) return send(401, { ok: false, error_code: 401, description: 'Unauthorized' });
    if (kind === 'file/bot') {
      const bytes = state.files.get(rest.replace('documents/', ''));
      return void response.writeHead(bytes === undefined ? 404 : 200).end(bytes);
    }
    void (async () => {
      const body = (await json(request)) as Record<string, unknown>;
      state.calls.push({ method: rest, body });
      state.complaints.push(...wrongIn(rest, description.methods[rest], body));
      const refusal = state.refusals.findIndex(({ method }) => method === rest);
      if (refusal >= 0) {
        const { status, body: fields } = state.refusals.splice(refusal, 1)[0]!;
        return send(status, { ok: false, error_code: status, ...fields });
      }
      const result = await methods[rest]?.(body, request);
      const { refused } = (result ?? {}) as { refused?: string };
      if (refused !== undefined) return send(400, { ok: false, error_code: 400, description: refused });
      if (result !== undefined) return send(200, { ok: true, result });
      const status = rest === 'getUpdates' ? 409 : 400;
      return send(status, { ok: false, error_code: status, description: 'Conflict or bad request' });
    })();
  };
}

/** The limit applies after entities are parsed. */
const isTooLong = (text: unknown): boolean =>
  String(text)
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&\w+;/g, '&').length > 4096;

const person = (id: number) => ({ id, is_bot: false, first_name: `Person ${id}` });

async function waitForOne(ms: number, wakers: Set<() => void>, request: IncomingMessage): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      wakers.delete(done);
      resolve();
    }
    wakers.add(done);
    request.once('close', done);
  });
}

/** Checks names and types of a request's fields against the description. */
function wrongIn(place: string, fields: readonly Field[] | undefined, body: unknown): string[] {
  if (fields === undefined) return [`${place}: there is no such thing`];
  if (typeof body !== 'object' || body === null) return [`${place}: is no object`];
  const known = new Map(fields.map((field) => [field.name, field]));
  const missing = fields.filter(({ name, required }) => required && !(name in body));
  return [
    ...missing.map(({ name }) => `${place}.${name} is missing`),
    ...Object.entries(body).flatMap(([name, value]) => {
      const field = known.get(name);
      if (field === undefined) return [`${place}.${name} is not known`];
      const faults = field.types.map((type) => wrongAs(`${place}.${name}`, type, value));
      return faults.some((fault) => fault.length === 0) ? [] : (faults[0] ?? []);
    }),
  ];
}

function wrongAs(place: string, type: string, value: unknown): string[] {
  const inner = /^Array of (.*)$/.exec(type)?.[1];
  if (inner !== undefined)
    return Array.isArray(value)
      ? value.flatMap((each) => wrongAs(place, inner, each))
      : [`${place} is no array`];
  const primitive: Record<string, string> = {
    Integer: 'number',
    Float: 'number',
    String: 'string',
    Boolean: 'boolean',
  };
  const wanted = primitive[type];
  if (wanted !== undefined) return typeof value === wanted ? [] : [`${place} is no ${type}`];
  return wrongIn(place, description.types[type], value);
}

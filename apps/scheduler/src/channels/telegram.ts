import { setTimeout as pause } from 'node:timers/promises';
import { type ChannelFile, type ChannelIncoming, createValidator } from '@acp/contract';
import type { HostList } from '@acp/kernel';
import { Type } from 'typebox';
import {
  ChannelFailure,
  type ChannelLink,
  type LinkEvents,
  type ReceivedUpTo,
  type Spoken,
  type WritingPlace,
} from './channel-link.ts';
import { TelegramUpdate, toIncoming } from './telegram-updates.ts';
import { type ChannelConfig, ifShaped, shaped, VendorApi } from './vendor-api.ts';

const TELEGRAM_URL = 'https://api.telegram.org';

/** How long the vendor may keep a poll open. */
const POLL_SEC = 25;
/** Minimum time per poll: a server that returns an empty answer sooner does not long-poll. */
const LEAST_MS = 1000;

const Answer = Type.Object({
  ok: Type.Boolean(),
  result: Type.Optional(Type.Unknown()),
  description: Type.Optional(Type.String()),
  parameters: Type.Optional(Type.Object({ retry_after: Type.Optional(Type.Number()) })),
});
const Me = Type.Object({ id: Type.Number(), username: Type.Optional(Type.String()) });
const Updates = Type.Array(
  Type.Object({ update_id: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1 }) }),
);
const Sent = Type.Object({ message_id: Type.Number() });
const File = Type.Object({ file_path: Type.Optional(Type.String()) });

/** Only such a name can be mentioned, and be part of a pattern. */
const BOT_NAME = /^\w{1,64}$/;

const updateOf = createValidator(TelegramUpdate, 'update');

/** Edits count as messages: a conversation has one a second, a group 20 a minute. */
const limits = {
  step_ms: (conversation: string) => (isGroup(conversation) ? 5000 : 1200),
  between_ms: 100,
  typing_ms: 4500,
};
/** Groups have negative ids, people positive ones. */
const isGroup = (conversation: string): boolean => conversation.startsWith('-');

/** A bot that polls for its updates (`getUpdates`): the vendor needs no reachable address of ours. */
export class Telegram implements ChannelLink {
  readonly limits = limits;
  readonly #api: VendorApi;
  readonly #token: string;
  /** A server of the operator's may be too old for `sendMessageDraft`. */
  #hasDrafts = true;
  #bot = { id: '', name: '' };

  /** @throws ChannelFailure for a malformed token: it becomes part of an address */
  constructor(config: ChannelConfig, token: string, list: HostList | null) {
    if (!/^\d{1,20}:[\w-]{1,100}$/.test(token))
      throw new ChannelFailure('the secret of bot_token is not a bot token', { refused: true });
    this.#token = token;
    this.#api = new VendorApi(config.telegram_api_url, TELEGRAM_URL, list, [token]);
  }

  async receive(events: LinkEvents, last: ReceivedUpTo, signal: AbortSignal): Promise<void> {
    const me = shaped(Me, await this.#call('getMe', {}, signal));
    this.#bot = { id: String(me.id), name: BOT_NAME.test(me.username ?? '') ? me.username! : '' };
    events.connected(this.#bot);
    // Another bot's offset would have the vendor drop what this one has not received.
    let offset = (last.bot_id ?? this.#bot.id) === this.#bot.id ? last.update_offset : 0;
    while (!signal.aborted) {
      const begin = performance.now();
      const query = { offset, timeout: POLL_SEC, allowed_updates: ['message', 'callback_query'] };
      const result = await this.#call('getUpdates', query, signal, (POLL_SEC + 10) * 1000);
      events.seen();
      const updates = shaped(Updates, result);
      if (updates.length === 0) {
        const early = LEAST_MS - (performance.now() - begin);
        if (early > 0) await pause(early, undefined, { signal });
        continue;
      }
      const next = Math.max(...updates.map(({ update_id }) => update_id)) + 1;
      // Acknowledged updates should not come again: a vendor that repeats them is not asked without a pause.
      if (next <= offset) await pause(LEAST_MS, undefined, { signal });
      // Asking for the number after the last makes the vendor drop these updates, which are stored by then.
      if (await events.store(this.#read(updates), next)) offset = next;
      else await pause(LEAST_MS, undefined, { signal });
    }
  }

  #read(updates: readonly unknown[]): ChannelIncoming[] {
    return updates.flatMap((each) => {
      const update = ifShaped(updateOf, each);
      return (update && toIncoming(update, this.#bot)) ?? [];
    });
  }

  async speak(
    { conversation, thread, reply_to, piece, buttons }: Spoken,
    signal: AbortSignal,
  ): Promise<string> {
    const message = {
      ...placeOf({ conversation, thread }),
      ...(reply_to !== null && {
        reply_parameters: { message_id: Number(reply_to), allow_sending_without_reply: true },
      }),
      // An address in the text must not be fetched just because someone wrote it.
      link_preview_options: { is_disabled: true },
      ...(buttons.length > 0 && {
        reply_markup: {
          inline_keyboard: [buttons.map(({ label, value }) => ({ text: label, callback_data: value }))],
        },
      }),
    };
    const result = await this.#formatted('sendMessage', message, piece, signal);
    return String(shaped(Sent, result).message_id);
  }

  canChangeTo(): boolean {
    return true;
  }

  async change(
    conversation: string,
    message_id: string,
    piece: Spoken['piece'],
    signal: AbortSignal,
  ): Promise<void> {
    const message = {
      chat_id: conversation,
      message_id: Number(message_id),
      link_preview_options: { is_disabled: true },
    };
    try {
      await this.#formatted('editMessageText', message, piece, signal);
    } catch (error) {
      if (!(error instanceof ChannelFailure && /message is not modified/i.test(error.message))) throw error;
    }
  }

  async typing(place: WritingPlace, signal: AbortSignal): Promise<boolean> {
    await this.#call('sendChatAction', { ...placeOf(place), action: 'typing' }, signal);
    return true;
  }

  async preview(
    place: WritingPlace,
    id: number,
    piece: Spoken['piece'],
    signal: AbortSignal,
  ): Promise<boolean> {
    if (!this.#hasDrafts || isGroup(place.conversation)) return false;
    const draft = { ...placeOf(place), chat_id: Number(place.conversation), draft_id: id };
    try {
      await this.#formatted('sendMessageDraft', draft, piece, signal);
      return true;
    } catch (error) {
      if (!(error instanceof ChannelFailure && error.answered && error.pause_sec === null)) throw error;
      this.#hasDrafts = false;
      return false;
    }
  }

  async remove(conversation: string, message_id: string, signal: AbortSignal): Promise<void> {
    await this.#call('deleteMessage', { chat_id: conversation, message_id: Number(message_id) }, signal);
  }

  /** Sends with markup; without it if the vendor can't parse it. */
  async #formatted(
    method: string,
    message: object,
    piece: Spoken['piece'],
    signal: AbortSignal,
  ): Promise<unknown> {
    try {
      return await this.#call(method, { ...message, text: piece.text, parse_mode: 'HTML' }, signal);
    } catch (error) {
      if (!(error instanceof ChannelFailure && /can't parse entities/i.test(error.message))) throw error;
      return this.#call(method, { ...message, text: piece.plain }, signal);
    }
  }

  async answer(callback: string, text: string, signal: AbortSignal): Promise<void> {
    await this.#call(
      'answerCallbackQuery',
      { callback_query_id: callback, text: text.slice(0, 200) },
      signal,
    );
  }

  async fetchFile({ source }: ChannelFile, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { file_path = '' } = shaped(File, await this.#call('getFile', { file_id: source }, signal));
    // A self-hosted server may return a path on its own disk, which must not be read.
    const segments = file_path.split('/');
    if (file_path === '' || segments.some((part) => part === '' || part === '..' || part === '.'))
      throw new ChannelFailure('the file can’t be fetched', { hopeless: true });
    const path = segments.map((part) => encodeURIComponent(part)).join('/');
    return this.#api.fetchFile(this.#api.at(`/file/bot${this.#token}/${path}`), { signal });
  }

  async #call(
    method: string,
    body: Record<string, unknown>,
    signal: AbortSignal,
    time_ms?: number,
  ): Promise<unknown> {
    const path = `/bot${this.#token}/${method}`;
    const { status, body: received } = await this.#api.post(path, body, {
      signal,
      ...(time_ms !== undefined && { time_ms }),
    });
    const answer = ifShaped((value) => shaped(Answer, value), received);
    if (answer?.ok === true) return answer.result;
    const words = `it answered ${status}${answer?.description === undefined ? '' : `: ${answer.description.slice(0, 200)}`}`;
    throw new ChannelFailure(words, {
      refused: status === 401 || (status === 404 && method === 'getMe'),
      answered: true,
      hopeless: status === 400 || status === 403,
      pause_sec: status === 429 ? (answer?.parameters?.retry_after ?? 5) : null,
    });
  }
}

const placeOf = ({ conversation, thread }: WritingPlace) => ({
  chat_id: conversation,
  ...(thread !== '' && { message_thread_id: Number(thread) }),
});

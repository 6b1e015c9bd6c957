import { setTimeout as pause } from 'node:timers/promises';
import { type ChannelFile, type ChannelIncoming, createValidator } from '@acp/contract';
import {
  createGuardedFetch,
  createGuardedWebSocket,
  foreignJson,
  type GuardedWebSocket,
  type HostList,
  Scrubber,
} from '@acp/kernel';
import { Type } from 'typebox';
import {
  ChannelFailure,
  type ChannelLink,
  type LinkEvents,
  type ReceivedUpTo,
  type Spoken,
  type WritingPlace,
} from './channel-link.ts';
import { EventPayload, eventToIncoming, PressPayload, pressToIncoming } from './slack-payloads.ts';
import { type ChannelConfig, ifJson, ifShaped, shaped, VendorApi } from './vendor-api.ts';

const SLACK_URL = 'https://slack.com/api';

/** The vendor sends several signs of life a minute: one that is silent this long is gone. */
const SILENCE_MS = 60_000;
const OPEN_MS = 20_000;
/** Minimum time per connection. */
const LEAST_MS = 1000;
/** Maximum of envelopes received but not yet stored. The vendor sends what exceeds it again: nothing acknowledges it. */
const MOST_UNSTORED = { envelopes: 200, characters: 10_000_000 };

/** Errors about a token, or about an app or workspace that is gone: nothing on this side can fix them. */
const REFUSED =
  /^(invalid_auth|not_authed|account_inactive|token_revoked|token_expired|missing_scope|not_allowed_token_type|app_uninstalled|team_access_not_granted)$/;
const PASSING =
  /^(ratelimited|rate_limited|internal_error|fatal_error|service_unavailable|request_timeout|team_added_to_org)$/;

/** In a rendered piece, whose other angle brackets are escaped. */
const LINK = /<(https?:\/\/|mailto:)[^|>]*\|/;
const LINKS = /<((?:https?:\/\/|mailto:)[^|>]*)\|([^>]*)>/g;

const Answer = Type.Object({ ok: Type.Boolean(), error: Type.Optional(Type.String()) });
const Opened = Type.Object({ url: Type.String() });
const Identity = Type.Object({ user_id: Type.String(), user: Type.Optional(Type.String()) });
const Posted = Type.Object({ channel: Type.String(), ts: Type.String() });
const Envelope = Type.Object({
  type: Type.String(),
  envelope_id: Type.Optional(Type.String()),
  payload: Type.Optional(Type.Unknown()),
});

const [envelopeOf, eventOf, pressOf] = [
  createValidator(Envelope, 'envelope'),
  createValidator(EventPayload, 'payload'),
  createValidator(PressPayload, 'payload'),
];

/** `chat.update` has fifty a minute for the whole app, and complete replies need some of them. */
const limits = { step_ms: () => 1500, between_ms: 1500, typing_ms: 100_000 };

/** An app in socket mode: a WebSocket opened from here, and the Web API. */
export class Slack implements ChannelLink {
  readonly limits = limits;
  readonly #api: VendorApi;
  readonly #bot_token: string;
  readonly #app_token: string;
  readonly #files: typeof fetch;
  readonly #connect: GuardedWebSocket;
  readonly #list: HostList | null;
  readonly #scrubber: Scrubber;
  #bot_id = '';

  constructor(
    config: ChannelConfig,
    { bot_token, app_token }: { bot_token: string; app_token: string },
    list: HostList | null,
  ) {
    for (const [name, token] of Object.entries({ bot_token, app_token }))
      if (!/^[\w.-]{1,300}$/.test(token))
        throw new ChannelFailure(`the secret of ${name} is not a Slack token`, { refused: true });
    this.#scrubber = new Scrubber([bot_token, app_token]);
    this.#bot_token = bot_token;
    this.#app_token = app_token;
    this.#api = new VendorApi(config.slack_api_url, SLACK_URL, list, [bot_token, app_token]);
    this.#list = list;
    const { hostname } = this.#api.base;
    const guard = { egress: 'public', allow_hosts: this.#api.isUsual ? [] : [hostname] } as const;
    this.#files = createGuardedFetch(guard).within(list);
    this.#connect = createGuardedWebSocket(guard);
  }

  async receive(events: LinkEvents, _last: ReceivedUpTo, signal: AbortSignal): Promise<void> {
    const identity = shaped(Identity, await this.#call('auth.test', {}, signal));
    this.#bot_id = identity.user_id;
    const bot = { id: identity.user_id, name: identity.user ?? '' };
    while (!signal.aborted) {
      const begin = performance.now();
      const { url } = shaped(Opened, await this.#call('apps.connections.open', {}, signal, this.#app_token));
      this.#assertAddress(url);
      await this.#listen(url, bot, events, signal);
      // A vendor that ends each connection at once is not asked for the next without a pause.
      const early = LEAST_MS - (performance.now() - begin);
      if (early > 0) await pause(early, undefined, { signal });
    }
  }

  /** The vendor supplies the address: it may be unencrypted only if it comes from the operator's own server. */
  #assertAddress(address: string): void {
    const { protocol, hostname } = URL.canParse(address) ? new URL(address) : { protocol: '', hostname: '' };
    const ours = !this.#api.isUsual && hostname === this.#api.base.hostname;
    if (protocol !== 'wss:' && !(ours && protocol === 'ws:'))
      throw new ChannelFailure('it names no address to connect to');
    // The list contains hosts and ports; a WebSocket has the same ones as HTTP.
    if (this.#list?.coversUrl(new URL(address.replace(/^ws/, 'http'))) === false)
      throw new ChannelFailure(`the company’s list of hosts does not have ${hostname}`, { refused: true });
  }

  /** Listens until the vendor closes the connection, as it does about every hour, or asks for a new one. */
  async #listen(
    url: string,
    bot: { id: string; name: string },
    events: LinkEvents,
    signal: AbortSignal,
  ): Promise<void> {
    const over = Promise.withResolvers<void>();
    const fail = (message: string): void => over.reject(new ChannelFailure(message));
    let silence = setTimeout(() => fail('the connection could not be opened'), OPEN_MS);
    const unstored: string[] = [];
    let characters = 0;
    let overflows = false;
    let isStoring = false;
    let stored = Promise.resolve();
    const heard = (): void => {
      events.seen();
      clearTimeout(silence);
      silence = setTimeout(() => fail('nothing was received for a minute'), SILENCE_MS);
    };
    const store = async (): Promise<void> => {
      try {
        while (unstored.length > 0) {
          const texts = unstored.splice(0);
          characters = 0;
          const { acknowledged, is_over } = await this.#take(texts, events, bot, signal);
          for (const envelope_id of acknowledged) socket.send(JSON.stringify({ envelope_id }));
          if (is_over) return over.resolve();
        }
        // Only now: closed with an acknowledgement unsent, the next connection would begin with the same envelopes.
        if (overflows) over.resolve();
      } catch {
        fail('the messages could not be stored');
      } finally {
        isStoring = false;
      }
    };
    const socket = this.#connect(url, {
      ping: heard,
      closed: () => over.resolve(),
      failed: () => fail('the connection failed'),
      message: (text) => {
        heard();
        const { envelopes: most, characters: longest } = MOST_UNSTORED;
        overflows ||= unstored.length >= most || characters + text.length > longest;
        if (overflows) return;
        unstored.push(text);
        characters += text.length;
        if (isStoring) return;
        isStoring = true;
        stored = stored.then(store);
      },
    });
    const stop = (): void => over.resolve();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await over.promise;
    } finally {
      clearTimeout(silence);
      signal.removeEventListener('abort', stop);
      socket.close();
      await stored;
    }
  }

  /** Stores all of them at once, as soon as there is room. @returns the ids of those that the vendor needn't send again */
  async #take(
    texts: readonly string[],
    events: LinkEvents,
    bot: { id: string; name: string },
    signal: AbortSignal,
  ): Promise<{ acknowledged: string[]; is_over: boolean }> {
    const acknowledged: string[] = [];
    const came: ChannelIncoming[] = [];
    let is_over = false;
    for (const text of texts) {
      const json = ifJson(() => foreignJson(text, this.#scrubber));
      const { type, envelope_id, payload } = ifShaped(envelopeOf, json) ?? { type: '' };
      if (type === 'hello') events.connected(bot);
      if (type === 'disconnect') is_over = true;
      if (envelope_id === undefined) continue;
      const incoming = this.#read(type, envelope_id, payload);
      acknowledged.push(envelope_id);
      if (incoming !== undefined) came.push(incoming);
    }
    // Whatever is neither stored nor acknowledged, the vendor sends a few times more, and then never again.
    while (came.length > 0 && !(await events.store(came, null))) await pause(LEAST_MS, undefined, { signal });
    return { acknowledged, is_over };
  }

  #read(type: string, envelope_id: string, payload: unknown): ChannelIncoming | undefined {
    if (type === 'events_api') {
      const event = ifShaped(eventOf, payload);
      return event && eventToIncoming(event, this.#bot_id);
    }
    if (type !== 'interactive') return undefined;
    const press = ifShaped(pressOf, payload);
    return press && pressToIncoming(envelope_id, press);
  }

  async speak({ conversation, thread, piece, buttons }: Spoken, signal: AbortSignal): Promise<string> {
    const { channel, ts } = shaped(
      Posted,
      await this.#call(
        'chat.postMessage',
        {
          channel: conversation,
          ...(thread !== '' && { thread_ts: thread }),
          ...worded(piece.text, buttons),
        },
        signal,
      ),
    );
    return `${channel} ${ts}`;
  }

  canChangeTo({ text }: Spoken['piece']): boolean {
    return !LINK.test(text);
  }

  /** Links are shown as text: unlike a new message, an edit can't tell Slack not to fetch what they lead to. */
  async change(
    _conversation: string,
    message_id: string,
    piece: Spoken['piece'],
    signal: AbortSignal,
  ): Promise<void> {
    const [channel = '', ts = ''] = message_id.split(' ');
    const text = piece.text.replaceAll(LINKS, (_, href: string, label: string) =>
      label === href ? label : `${label} (${href})`,
    );
    await this.#call('chat.update', { channel, ts, text, parse: 'none', blocks: [] }, signal);
  }

  /** Only threads have an indication. */
  async typing({ conversation, thread }: WritingPlace, signal: AbortSignal): Promise<boolean> {
    if (thread === '' || conversation.startsWith('U') || conversation.startsWith('W')) return false;
    const status = { channel_id: conversation, thread_ts: thread, status: 'is writing…' };
    await this.#call('assistant.threads.setStatus', status, signal);
    return true;
  }

  async preview(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async remove(_conversation: string, message_id: string, signal: AbortSignal): Promise<void> {
    const [channel = '', ts = ''] = message_id.split(' ');
    await this.#call('chat.delete', { channel, ts }, signal);
  }

  async answer(callback: string, text: string, signal: AbortSignal): Promise<void> {
    const [channel = '', user = ''] = callback.split(' ');
    await this.#call('chat.postEphemeral', { channel, user, text }, signal);
  }

  async fetchFile({ source }: ChannelFile, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const url = URL.canParse(source) ? new URL(source) : null;
    const ofSlack = url?.protocol === 'https:' && /(^|\.)slack\.com$/.test(url.hostname);
    const ours = !this.#api.isUsual && url?.hostname === this.#api.base.hostname;
    // The request carries the token: it goes to the vendor only, never to a host named in a message.
    if (url === null || !(ofSlack || ours))
      throw new ChannelFailure('the file is not Slack’s', { hopeless: true });
    return this.#api.fetchFile(
      url,
      { headers: { authorization: `Bearer ${this.#bot_token}` }, signal },
      this.#files,
    );
  }

  async #call(
    method: string,
    body: Record<string, unknown>,
    signal: AbortSignal,
    token = this.#bot_token,
  ): Promise<unknown> {
    const headers = { authorization: `Bearer ${token}` };
    const {
      status,
      headers: told,
      body: answered,
    } = await this.#api.post(`/${method}`, body, { headers, signal });
    const answer = ifShaped((value) => shaped(Answer, value), answered);
    if (answer?.ok === true) return answered;
    const error = answer?.error?.slice(0, 100) ?? '';
    const after = Number(told.get('retry-after'));
    throw new ChannelFailure(`${method}: it answered ${error === '' ? status : error}`, {
      refused: REFUSED.test(error),
      answered: true,
      hopeless: error !== '' && !PASSING.test(error),
      pause_sec: status === 429 ? (Number.isFinite(after) && after > 0 ? after : 5) : null,
    });
  }
}

/** Neither fetches links in the text nor notifies anyone it mentions. */
function worded(text: string, buttons: Spoken['buttons']): Record<string, unknown> {
  const plain = {
    text,
    mrkdwn: true,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
  };
  if (buttons.length === 0) return plain;
  const elements = buttons.map(({ label, value, danger }, at) => ({
    type: 'button',
    action_id: `decide_${at}`,
    text: { type: 'plain_text', text: label },
    value,
    style: danger ? 'danger' : 'primary',
  }));
  const section = {
    type: 'section',
    text: { type: 'mrkdwn', text: text.slice(0, 3000).toWellFormed(), verbatim: true },
  };
  return { ...plain, blocks: [section, { type: 'actions', elements }] };
}

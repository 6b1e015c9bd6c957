/**
 * Slack and Telegram as others have rebuilt them for their own tests: a person is paired, answered and asked for a decision.
 * Neither is a development dependency: they bring libraries with known faults, which nothing else needs.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Approval, Channel, ChatMessage, PairingCode } from '@acp/contract';
import { freePort, waitFor } from '@acp/testkit';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createTeam, startTwoTiers, type TwoTiers } from '../process/api.ts';
import { installPackages } from './install-packages.ts';
import { type SocketModeRelay, startSocketModeRelay } from './slack-in-socket-mode.ts';

const SLACK = 'emulate@0.12.2';
const TELEGRAM = 'telegram-test-api@4.2.1';
const TOKENS = { TG: '123456:telegram-token', BOT: 'xoxb-bot-1', APP: 'xapp-app-1', PERSON: 'xoxp-ada-1' };

interface SlackStandIn {
  url: string;
  close(): Promise<void>;
}
interface TelegramMessage {
  text: string;
  chat_id: string | number;
  reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] };
}
interface TelegramPerson {
  makeMessage(text: string): object;
  makeCommand(text: string): object;
  makeCallbackQuery(data: string, more: object): object;
  sendMessage(message: object): Promise<void>;
  sendCommand(message: object): Promise<void>;
  sendCallback(query: object): Promise<void>;
}
interface TelegramStandIn {
  config: { apiURL: string };
  storage: { botMessages: { messageId: number; message: TelegramMessage }[] };
  start(): Promise<void>;
  stop(): Promise<boolean>;
  getClient(token: string, person: object): TelegramPerson;
}

let folder: string;
let slack: SlackStandIn;
let relay: SocketModeRelay;
let telegram: TelegramStandIn;
let tiers: TwoTiers;
let company_id: string;
let agent_id: string;

async function installed<T>(name: string): Promise<T> {
  const root = path.join(folder, 'node_modules', name);
  const { main } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { main: string };
  return (await import(pathToFileURL(path.join(root, main)).href)) as T;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'chat-vendors-'));
  await installPackages(folder, SLACK, TELEGRAM);
  const emulate = await installed<{ createEmulator(options: object): Promise<SlackStandIn> }>('emulate');
  const TelegramServer = (
    await installed<{ default: new (config: object) => TelegramStandIn }>('telegram-test-api')
  ).default;
  slack = await emulate.createEmulator({
    service: 'slack',
    port: await freePort(),
    seed: {
      tokens: {},
      slack: {
        users: [{ name: 'ada' }, { name: 'helper' }],
        channels: [{ name: 'paint' }],
        tokens: [
          { token: TOKENS.BOT, type: 'bot', user: 'helper', scopes: ['chat:write'] },
          { token: TOKENS.PERSON, type: 'user', user: 'ada' },
        ],
        // With these, a method that the app has no scope for is refused, as the vendor does.
        strict_scopes: true,
      },
    },
  });
  relay = await startSocketModeRelay(slack.url);
  telegram = new TelegramServer({ port: await freePort(), host: '127.0.0.1', storeTimeout: 600 });
  await telegram.start();
  tiers = await startTwoTiers('chat_vendors', {
    SERVICE_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    SERVICE_TELEGRAM_API_URL: telegram.config.apiURL,
    SERVICE_SLACK_API_URL: relay.url,
  });
  await tiers.startScheduler();
  const { api } = tiers;
  const team = await createTeam(api, ['Bob']);
  company_id = team.company_id;
  agent_id = team.agents[0]!.id;
  const me = await api.call<{ id: string }>('GET', '/api/me');
  await api.send('POST', `/api/companies/${company_id}/members`, { user_id: me.id, role: 'admin' });
  for (const name of ['TG', 'BOT', 'APP'] as const)
    await api.call('POST', `/api/companies/${company_id}/secrets`, { name, value: TOKENS[name] });
});

afterAll(async () => {
  await tiers?.stop();
  await relay?.close();
  await Promise.all([slack?.close(), telegram?.stop()]);
  await rm(folder, { recursive: true, force: true });
});

async function connected(input: object): Promise<Channel> {
  const { api } = tiers;
  const made = await api.call<Channel>('POST', `/api/companies/${company_id}/channels`, {
    default_agent_id: agent_id,
    ...input,
  });
  return waitFor(async () => {
    const now = await api.call<Channel>('GET', `/api/channels/${made.id}`);
    return now.status === 'connected' ? now : undefined;
  });
}

/** Pairs whoever sends it. */
const codeFor = async ({ id }: Channel) => tiers.api.call<PairingCode>('POST', `/api/me/channels/${id}/code`);
/** From then on the person is asked for decisions there. @returns the id of the first */
async function askedToApprove(channel: Channel, title: string): Promise<string> {
  await tiers.api.call('PUT', `/api/me/channels/${channel.id}/notify`, { notify: ['approvals'] });
  const input = { type: 'action', title };
  return (await tiers.api.call<Approval>('POST', `/api/companies/${company_id}/approvals`, input)).id;
}
const statusOf = async (id: string) => (await tiers.api.call<Approval>('GET', `/api/approvals/${id}`)).status;
const repeating = () =>
  tiers.model.setScript(({ messages }) => `You said **${messages.at(-1)!.content.split('\n').at(-1)}**`);

describe('a Telegram channel', () => {
  const ADA = 77;
  const sent = () =>
    telegram.storage.botMessages.filter(({ message }) => String(message.chat_id) === `${ADA}`);
  const said = () => sent().map(({ message }) => message.text);

  it('pairs, answers with markup, and has a decision made by a button', async () => {
    repeating();
    const channel = await connected({ name: 'telegram', kind: 'telegram', bot_token: '${secret:TG}' });
    expect(channel.bot_name).toBe('TestNameBot');
    const ada = telegram.getClient(TOKENS.TG, { userId: ADA, chatId: ADA, firstName: 'Ada' });
    await ada.sendCommand(ada.makeCommand(`/start ${(await codeFor(channel)).code}`));
    await waitFor(() => said().some((text) => text.includes('You are paired')));
    await ada.sendMessage(ada.makeMessage('paint the wall'));
    await waitFor(() => said().includes('You said <b>paint the wall</b>'));

    const id = await askedToApprove(channel, 'Buy paint');
    const asked = await waitFor(() => sent().find(({ message }) => message.text.includes('Buy paint')));
    const [approve] = asked.message.reply_markup!.inline_keyboard.flat();
    const shown = { message: { message_id: asked.messageId, text: asked.message.text } };
    await ada.sendCallback(ada.makeCallbackQuery(approve!.callback_data, shown));
    await waitFor(async () => (await statusOf(id)) === 'approved');
    await waitFor(() => asked.message.text.includes('approved by'));
  });
});

describe('a Slack channel', () => {
  const authorized = (token: string) => ({
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  });
  /** As the person sees it. */
  async function seen(
    method: string,
    body: object,
  ): Promise<(Record<string, unknown> & { text: string; ts: string })[]> {
    const options = { method: 'POST', headers: authorized(TOKENS.PERSON), body: JSON.stringify(body) };
    const answer = await fetch(`${slack.url}/api/${method}`, options);
    const { ok, error, messages } = (await answer.json()) as {
      ok: boolean;
      error?: string;
      messages: never[];
    };
    if (!ok) throw new Error(`${method}: ${error}`);
    return messages;
  }
  async function idOf(token: string): Promise<string> {
    const options = { method: 'POST', headers: authorized(token) };
    const answer = await fetch(`${slack.url}/api/auth.test`, options);
    return ((await answer.json()) as { user_id: string }).user_id;
  }

  it('pairs, answers in direct messages and in threads, and has a decision made by a button', async () => {
    repeating();
    const [bot, ada] = [await idOf(TOKENS.BOT), await idOf(TOKENS.PERSON)];
    const opened = await relay.says(TOKENS.PERSON, 'paint', 'Is anybody here?');
    const group = opened.channel;
    const channel = await connected({
      name: 'slack',
      kind: 'slack',
      bot_token: '${secret:BOT}',
      app_token: '${secret:APP}',
      groups: [group],
    });
    const direct = await relay.says(TOKENS.PERSON, bot, (await codeFor(channel)).code);
    const inDirect = async () => seen('conversations.history', { channel: direct.channel });
    await waitFor(async () => (await inDirect()).some(({ text }) => text.includes('You are paired')));
    await relay.says(TOKENS.PERSON, bot, 'paint the wall');
    await waitFor(async () => (await inDirect()).some(({ text }) => text === 'You said *paint the wall*'));

    const mention = await relay.says(TOKENS.PERSON, group, `<@${bot}> in public`);
    const thread = async () => seen('conversations.replies', { channel: group, ts: mention.ts });
    await waitFor(async () => (await thread()).some(({ text }) => text === 'You said *in public*'));

    const id = await askedToApprove(channel, 'Buy paint');
    const asked = await waitFor(async () =>
      (await inDirect()).find(({ text }) => text.includes('Buy paint')),
    );
    const blocks = asked.blocks as { elements?: { text: { text: string }; value: string }[] }[];
    const action = blocks
      .flatMap(({ elements = [] }) => elements)
      .find(({ text }) => text.text === 'Reject')!;
    relay.presses({ channel: direct.channel, message: asked, user: ada, action });
    await waitFor(async () => (await statusOf(id)) === 'rejected');
    const decided = await waitFor(async () =>
      (await inDirect()).find(({ ts, text }) => ts === asked.ts && text.includes('rejected by')),
    );
    expect(decided.blocks ?? []).toEqual([]);
    // The stand-in has no assistants: whether a status is shown makes no difference to the reply.
    expect(relay.refused.filter((each) => !each.startsWith('assistant.threads.setStatus'))).toEqual([]);

    const chats = await tiers.api.call<{ id: string; channel: string }[]>(
      'GET',
      `/api/companies/${company_id}/chats`,
    );
    const ofSlack = chats.filter((chat) => chat.channel === 'slack');
    const told = await Promise.all(
      ofSlack.map(async (chat) => tiers.api.call<ChatMessage[]>('GET', `/api/chats/${chat.id}/messages`)),
    );
    expect(told.map((messages) => messages.map(({ role }) => role))).toEqual([
      ['user', 'assistant'],
      ['user', 'assistant'],
    ]);
  });
});

/** What schedulers call on behalf of companies may answer anything: every client gives up within limits, and tells no secret. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createGuardedFetch, Scrubber } from '@acp/kernel';
import { drippingAnswers, hostileAnswers, type HostileServer, startHostileServer } from '@acp/testkit';
import { buffer } from 'node:stream/consumers';
import { Slack } from './channels/slack.ts';
import { Telegram } from './channels/telegram.ts';
import { fetchJson } from './federation/fetch-json.ts';
import { McpConnection } from './mcp/mcp-connection.ts';
import { describeFailure } from './mcp/mcp-failures.ts';
import { httpLink } from './mcp/mcp-link.ts';
import { httpFetch } from './plugins/http-fetch.ts';
import { sendWebhook } from './webhooks/send-webhook.ts';
import type { HostConfig } from './workspaces/git-host.ts';
import { Github } from './workspaces/github.ts';
import { Gitlab } from './workspaces/gitlab.ts';

const TOKEN = '12345678:a-secret_of-the-company';
const GIT_TOKEN = 'ghp_another-secret';
const SLACK_TOKENS = { bot_token: 'xoxb-secret-1', app_token: 'xapp-secret-2' };

let server: HostileServer;
const send = createGuardedFetch({ egress: 'any' });

beforeAll(async () => {
  server = await startHostileServer();
});
beforeEach(() => {
  server.asked.length = 0;
});
afterAll(() => server.close());

const hosts: HostConfig = { repository_apis: [], repository_egress: 'any', repository_hosts: [] };
const place = () => ({ provider: 'x', api_url: server.url, repository: 'harbour/shop' });
const access = { secret: GIT_TOKEN, list: null };
const vendors = () => ({
  telegram_api_url: server.url,
  slack_api_url: server.url,
  attachment_max_upload_bytes: 1000,
});
const slack = () => new Slack(vendors(), SLACK_TOKENS, null);

type Client = (signal: AbortSignal, seconds: number) => Promise<unknown>;

/** Each fails with words for people. */
const clients: Record<string, Client> = {
  'a peer': async (signal, timeout_sec) => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    return fetchJson(send, server.url, { method: 'POST', headers, body: '{}', timeout_sec }, signal);
  },
  'a GitHub server': async (signal) => new Github(hosts, place(), access).find('branch', signal),
  'a GitLab server': async (signal) => new Gitlab(hosts, place(), access).find('branch', signal),
  Telegram: async (signal) => new Telegram(vendors(), TOKEN, null).answer('1', 'text', signal),
  Slack: async (signal) => slack().answer('C U', 'text', signal),
  'an MCP server': async (signal, seconds) => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const link = httpLink({ url: server.url, send, headers, protocol_version: null });
    const timeout_ms = seconds * 1000;
    return McpConnection.open(link, { timeout_ms, signal }).catch(async (error: unknown) => {
      throw new Error(await describeFailure(error, timeout_ms, new Scrubber([TOKEN])));
    });
  },
};

describe.each(Object.entries(clients))('%s', (_name, client) => {
  it.each(Object.entries(hostileAnswers))('answers with %s', async (_what, answer) => {
    server.answer(answer);
    const failure = await client(AbortSignal.timeout(60_000), 60).then(
      () => new Error('it was believed'),
      (error: Error) => error,
    );
    expect(failure.name).not.toMatch(/RangeError|SyntaxError|TypeError/);
    expect(failure.message).not.toBe('it was believed');
    expect(failure.message.length).toBeLessThan(1000);
    expect(server.asked.length).toBeLessThanOrEqual(3);
  });

  it.each(Object.entries(drippingAnswers))('drips %s', async (_what, answer) => {
    server.answer(answer);
    const given = client(AbortSignal.timeout(700), 0.5);
    await expect(given).rejects.toBeInstanceOf(Error);
  });

  it('repeats the credentials that it was sent', async () => {
    server.answer((response, { headers, url }) => {
      const echo = JSON.stringify([headers, url]);
      const error = { code: -32_600, message: echo };
      const all = { jsonrpc: '2.0', id: 1, ok: false, message: echo, description: echo, error };
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(all));
    });
    const said = await client(AbortSignal.timeout(60_000), 60).catch((error: Error) => error.message);
    const text = JSON.stringify(said);
    for (const secret of [TOKEN, GIT_TOKEN, ...Object.values(SLACK_TOKENS)])
      expect(text).not.toContain(secret);
    const sent = JSON.stringify(server.asked);
    expect(sent).toMatch(/secret/);
  });
});

describe('a file of a message', () => {
  it.each(Object.entries(drippingAnswers))('that drips %s ends with its signal', async (_what, answer) => {
    server.answer(answer);
    const file = { source: `${server.url}/x`, name: 'x', content_type: 'text/plain', size_bytes: null };
    const signal = AbortSignal.timeout(700);
    const read = async () => buffer(await slack().fetchFile(file, signal));
    await expect(read()).rejects.toBeInstanceOf(Error);
  });
});

it('a name of a bot that is none becomes no pattern', async () => {
  const chat = { id: -5, type: 'group', title: 'All' };
  const message = { message_id: 1, from: { id: 2, first_name: 'Ada' }, chat, text: '@( hello' };
  const results: Record<string, unknown> = {
    getMe: { id: 1, username: '(' },
    getUpdates: [{ update_id: 7, message }],
  };
  server.answer((response, { url = '' }) => {
    response.end(JSON.stringify({ ok: true, result: results[url.split('/').at(-1)!] }));
  });
  const stop = new AbortController();
  const bots: unknown[] = [];
  const stored: unknown[] = [];
  const events = {
    connected: (bot: unknown) => bots.push(bot),
    seen: () => undefined,
    store: async (came: unknown[]) => {
      stored.push(...came);
      stop.abort(new Error('enough'));
      return Promise.resolve(true);
    },
  };
  await new Telegram(vendors(), TOKEN, null)
    .receive(events, { bot_id: null, update_offset: 0 }, stop.signal)
    .catch(() => undefined);
  expect(bots).toEqual([{ id: '1', name: '' }]);
  expect(stored).toEqual([]);
  expect(stop.signal.aborted).toBe(true);
});

describe('a receiver of webhooks', () => {
  const delivery = { id: 'd', event_type: 'x', body: '{}', secret: 'a secret', headers: {} };
  it.each(Object.entries({ ...hostileAnswers, ...drippingAnswers }))(
    'answers with %s',
    async (_what, answer) => {
      server.answer(answer);
      const envelope = { ...delivery, attempts: 0, url: server.url };
      const attempt = await sendWebhook(send, envelope, 1, AbortSignal.timeout(60_000));
      expect(attempt.error ?? '').not.toContain('undefined');
      expect(server.asked).toHaveLength(1);
    },
  );
});

describe('what a plugin fetches', () => {
  const fetchPlace = () => ({
    fetch: send,
    placeBody: async (bytes: Uint8Array) => Promise.resolve(`${bytes.length}`),
    signal: AbortSignal.timeout(60_000),
  });

  it.each(Object.entries(hostileAnswers))('is %s: at most ten megabytes of it', async (_what, answer) => {
    server.answer(answer);
    const result = await httpFetch(fetchPlace(), { url: server.url }).catch((error: Error) => error);
    const outcome = result instanceof Error ? result.name : (result.body_file ?? 'in the message');
    expect(['ServiceError', '10485760', 'in the message']).toContain(outcome);
  });

  it('elsewhere is asked for without the headers that may be keys', async () => {
    const elsewhere = await startHostileServer();
    const location = `${elsewhere.url}/`.replace('127.0.0.1', 'localhost');
    server.answer((response) => void response.writeHead(302, { location }).end());
    const headers = { 'x-api-key': TOKEN, 'Private-Token': TOKEN, accept: 'text/plain' };
    await httpFetch(fetchPlace(), { url: server.url, headers });
    expect(server.asked[0]!.headers).toMatchObject({ 'x-api-key': TOKEN, 'private-token': TOKEN });
    expect(elsewhere.asked[0]!.headers).toMatchObject({ accept: 'text/plain' });
    expect(JSON.stringify(elsewhere.asked)).not.toContain(TOKEN);
    elsewhere.close();
  });
});

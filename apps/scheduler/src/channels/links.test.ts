import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ChannelIncoming } from '@acp/contract';
import { type FakeTelegram, startFakeSlack, startFakeTelegram, waitFor } from '@acp/testkit';
import { HostList } from '@acp/kernel';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Slack } from './slack.ts';
import { Telegram } from './telegram.ts';

const { signal } = new AbortController();
const file = (source: string) => ({ source, name: 'x', content_type: 'text/plain', size_bytes: null });
const config = (telegram_api_url: string, slack_api_url = 'https://slack.com/api') => ({
  telegram_api_url,
  slack_api_url,
  attachment_max_upload_bytes: 1000,
});
const tokens = { bot_token: 'xoxb-1', app_token: 'xapp-1' };

let telegram: FakeTelegram & { token: string };
beforeAll(async () => {
  telegram = await startFakeTelegram();
});
afterAll(async () => telegram.close());

describe('a token', () => {
  it('that is none is refused before it becomes part of an address', () => {
    expect(() => new Telegram(config(telegram.url), '1:a/../../x', null)).toThrow('not a bot token');
    expect(() => new Slack(config(telegram.url), { ...tokens, bot_token: 'a\r\nb' }, null)).toThrow(
      'not a Slack token',
    );
  });

  it('of Slack goes to no other host, whatever address a message names', async () => {
    const slack = new Slack(config(telegram.url), tokens, null);
    for (const source of [
      'https://evil.example/x',
      'https://slack.com.evil.example/x',
      'http://files.slack.com/x',
      'file:///etc/passwd',
    ])
      await expect(slack.fetchFile(file(source), signal)).rejects.toThrow('not Slack’s');
  });

  it('does not follow a redirect', async () => {
    let asked = 0;
    const before = [...telegram.calls];
    const elsewhere = createServer((_, response) => {
      asked += 1;
      response.writeHead(307, { location: `${telegram.url}/bot1:x/getMe` }).end();
    }).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const { port } = elsewhere.address() as AddressInfo;
    const link = new Telegram(config(`http://127.0.0.1:${port}`), '1:x', null);
    await expect(link.answer('1', 'text', signal)).rejects.toThrow('it answered 307');
    expect(asked).toBe(1);
    expect(telegram.calls).toEqual(before);
    elsewhere.close();
  });
});

it('a vendor that repeats what was acknowledged is asked once a second', async () => {
  const answers = { getMe: { id: 1 }, getUpdates: [{ update_id: 7 }] };
  let polls = 0;
  const stuck = createServer((asked, response) => {
    const method = asked.url?.split('/').at(-1) as keyof typeof answers;
    if (method === 'getUpdates') polls += 1;
    response.end(JSON.stringify({ ok: true, result: answers[method] }));
  }).listen(0, '127.0.0.1');
  await once(stuck, 'listening');
  const { port } = stuck.address() as AddressInfo;
  const link = new Telegram(config(`http://127.0.0.1:${port}`), '1:x', null);
  const stop = new AbortController();
  const stored: number[] = [];
  const events = {
    connected: () => undefined,
    seen: () => undefined,
    store: async (_came: unknown, next: number | null) => {
      stored.push(next ?? 0);
      return Promise.resolve(true);
    },
  };
  const receiving = link
    .receive(events, { bot_id: null, update_offset: 0 }, stop.signal)
    .catch(() => undefined);
  await waitFor(() => polls >= 3);
  stop.abort();
  await receiving;
  stuck.close();
  stuck.closeAllConnections();
  expect(polls).toBe(3);
  expect(new Set(stored)).toEqual(new Set([8]));
});

it('a vendor that ends each connection at once is connected to once a second', async () => {
  const slack = await startFakeSlack();
  const link = new Slack(config(telegram.url, slack.url), slack, null);
  const stop = new AbortController();
  const begin = performance.now();
  let connections = 0;
  const events = {
    connected: () => {
      connections += 1;
      slack.disconnect();
    },
    seen: () => undefined,
    store: async () => Promise.resolve(true),
  };
  const receiving = link
    .receive(events, { bot_id: null, update_offset: 0 }, stop.signal)
    .catch(() => undefined);
  await waitFor(() => connections === 3);
  expect(performance.now() - begin).toBeGreaterThan(1900);
  stop.abort();
  await receiving;
  await slack.close();
});

it('a burst of more than is kept in memory is stored in the end, and whatever is stored is acknowledged', async () => {
  const slack = await startFakeSlack();
  const link = new Slack(config(telegram.url, slack.url), slack, null);
  const stop = new AbortController();
  const said = Array.from({ length: 450 }, (_, at) => `message ${at}`);
  const stored: string[] = [];
  let seen = 0;
  const events = {
    connected: () => undefined,
    seen: () => {
      seen += 1;
    },
    store: async (came: ChannelIncoming[]) => {
      // The whole burst arrives while the first of it is stored.
      await waitFor(() => seen >= said.length);
      stored.push(...came.map(({ text }) => text));
      return true;
    },
  };
  const receiving = link
    .receive(events, { bot_id: null, update_offset: 0 }, stop.signal)
    .catch((error: unknown) => error);
  await waitFor(() => slack.sockets() === 1);
  for (const text of said) slack.says('UADA', text);
  await waitFor(() => stored.length >= said.length);
  stop.abort();
  await receiving;
  expect(stored).toEqual(said);
  await slack.close();
});

it('what there is no room for is kept, and stored and acknowledged once there is', async () => {
  const slack = await startFakeSlack();
  const link = new Slack(config(telegram.url, slack.url), slack, null);
  const stop = new AbortController();
  const asked: string[][] = [];
  const events = {
    connected: () => undefined,
    seen: () => undefined,
    store: async (came: ChannelIncoming[]) => {
      asked.push(came.map(({ text }) => text));
      return Promise.resolve(asked.length > 1);
    },
  };
  const receiving = link
    .receive(events, { bot_id: null, update_offset: 0 }, stop.signal)
    .catch((error: unknown) => error);
  await waitFor(() => slack.sockets() === 1);
  slack.says('UADA', 'hello');
  await waitFor(() => asked.length === 2);
  expect(asked).toEqual([['hello'], ['hello']]);
  // What is acknowledged does not come again.
  slack.says('UADA', 'more');
  slack.disconnect();
  await waitFor(() => slack.calls.filter(({ method }) => method === 'apps.connections.open').length === 2);
  await waitFor(() => asked.length === 3);
  expect(asked[2]).toEqual(['more']);
  stop.abort();
  await receiving;
  await slack.close();
});

describe('a request', () => {
  const speak = async (link: Telegram) =>
    link.speak(
      { conversation: '7', thread: '', reply_to: null, piece: { text: '<b>x', plain: 'x' }, buttons: [] },
      signal,
    );

  it('is held to the company’s list of hosts', async () => {
    const list = HostList.of(['example.com']);
    const link = new Telegram(config(telegram.url), telegram.token, list);
    await expect(speak(link)).rejects.toMatchObject({
      refused: true,
      message: expect.stringContaining('list of hosts'),
    });
  });

  it('with markup that the vendor can’t read is sent again without', async () => {
    telegram.refuse('sendMessage', 400, { description: "Bad Request: can't parse entities: unclosed" });
    await speak(new Telegram(config(telegram.url), telegram.token, null));
    expect(telegram.messages).toMatchObject([{ text: 'x' }]);
    expect(telegram.messages[0]).not.toHaveProperty('parse_mode');
  });

  it.each([
    [1e12, 3600],
    [-5, 0],
  ])('of which the vendor wants no more for %d s is kept back for %d', async (retry_after, pause_sec) => {
    telegram.refuse('sendMessage', 429, { description: 'Too Many Requests', parameters: { retry_after } });
    await expect(speak(new Telegram(config(telegram.url), telegram.token, null))).rejects.toMatchObject({
      pause_sec,
    });
  });

  it('that a vendor refuses tells no token', async () => {
    const wrong = new Telegram(config(telegram.url), '123:wrong-token', null);
    const failure = await speak(wrong).catch((error: unknown) => error);
    expect(failure).toMatchObject({ refused: true, answered: true });
    expect(String(failure)).not.toContain('wrong-token');
    const dead = new Telegram(config('http://127.0.0.1:1'), '123:wrong-token', null);
    const broken = await speak(dead).catch((error: unknown) => error);
    expect(broken).toMatchObject({ refused: false, answered: false });
    expect(String(broken)).not.toContain('wrong-token');
  });
});

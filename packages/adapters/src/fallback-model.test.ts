import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type FakeModel, startFakeModel } from '@acp/testkit';
import { fallbackModel } from './fallback-model.ts';

let listing: FakeModel;
let silent: FakeModel;

beforeAll(async () => {
  listing = await startFakeModel({ models: ['a-text-embedding', 'b-chat', 'c-chat'] });
  silent = await startFakeModel();
});
afterAll(async () => Promise.all([listing.close(), silent.close()]));

const none = { family: null, model: null };
const compat = (base_url: string) => ({ family: 'family_compat', api_key: 'k', base_url }) as const;

describe('the model where nobody has chosen one', () => {
  it('is one that the endpoint lists for chatting, the instance’s if it is among them', async () => {
    expect(await fallbackModel(compat(listing.url), none)).toBe('b-chat');
    expect(await fallbackModel(compat(listing.url), { family: 'family_compat', model: 'c-chat' })).toBe(
      'c-chat',
    );
    expect(await fallbackModel(compat(listing.url), { family: 'family_compat', model: 'd' })).toBe('b-chat');
  });

  it('is asked for once in a while only', async () => {
    const asked: string[] = [];
    const server = createServer(({ url = '' }, response) => {
      asked.push(url);
      response.setHeader('content-type', 'application/json').end('{"data":[{"id":"only"}]}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const own = compat(`http://127.0.0.1:${port}/v1`);
    for (let n = 0; n < 3; n += 1) expect(await fallbackModel(own, none)).toBe('only');
    expect(asked).toEqual(['/v1/models']);
    server.close();
  });

  it('is the instance’s or any name where nothing can be listed', async () => {
    const gone = compat('http://127.0.0.1:9/v1');
    expect(await fallbackModel(gone, { family: 'family_compat', model: 'mine' })).toBe('mine');
    expect(await fallbackModel(gone, { family: 'family_chat_a', model: 'theirs' })).toBe('default');
  });

  it('is the vendor’s usual one, or the instance’s of the same vendor; the cloud has none', async () => {
    const vendor = { family: 'family_chat_b', api_key: 'k', base_url: null } as const;
    expect(await fallbackModel(vendor, none)).toMatch(/^claude-/);
    expect(await fallbackModel(vendor, { family: 'family_chat_b', model: 'claude-x' })).toBe('claude-x');
    expect(await fallbackModel(vendor, { family: 'family_compat', model: 'x' })).toMatch(/^claude-/);
    expect(await fallbackModel({ ...vendor, family: 'family_cloud' }, none)).toBeNull();
  });
});

/** Peers: managed by admins, fetched by schedulers, whatever is at the other end. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Peer } from '@acp/contract';
import { findPeer, takeCall } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { createLogger, loadConfig, newId, Vault } from '@acp/kernel';
import { databaseWithQueue, waitFor } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { Express } from 'express';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import request from 'supertest';
import { readRemote } from '../../apps/scheduler/src/federation/remote-task.ts';
import { PeerLink } from '../../apps/scheduler/src/federation/peer-link.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { type Cast, createCast } from './cast.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

let database: Database;
let app: Express;
let cast: Cast;
let link: PeerLink;
let far: Server;
let url: string;
let answer: Answer;

beforeAll(async () => {
  database = await databaseWithQueue();
  // Peers of earlier test files do not answer, and would be fetched first.
  await database.db.delete(schema.a2a_peers);
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  const logger = createLogger({ level: 'error', format: 'pretty', role: 'test' });
  app = createApp({ database, logger, config, validate_responses: true });
  cast = await createCast(database);
  link = new PeerLink({ database, vault: new Vault(config.encryption_key), logger, config });
  far = createServer((asked, response) => answer(response, asked)).listen(0, '127.0.0.1');
  await once(far, 'listening');
  url = `http://127.0.0.1:${(far.address() as AddressInfo).port}`;
});

afterAll(async () => {
  await link.stop();
  far.closeAllConnections();
  far.close();
});

type Who = 'board_admin' | 'board_member' | 'agent';
const send = async (
  method: 'post' | 'patch' | 'get' | 'delete',
  path: string,
  body?: object,
  who: Who = 'board_admin',
) => request(app)[method](path).set(cast[who].headers).send(body);
const add = async (more: object = {}) => {
  const body = { label: `P ${newId().slice(0, 8)}`, url, ...more };
  const made = await send('post', `/api/companies/${cast.company_id}/a2a/peers`, body);
  expect(made.status).toBe(201);
  return made.body as Peer;
};
const read = async ({ id }: Peer) => (await send('get', `/api/a2a/peers/${id}`)).body as Peer;
const json =
  (value: unknown): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));

describe('a peer', () => {
  it('that was added is fetched when it is due, with its key, and tells its agents', async () => {
    const seen: (string | undefined)[][] = [];
    answer = (response, asked) => {
      seen.push([asked.url, asked.headers.authorization]);
      const agents = [
        { id: 'a', name: 'Ada', description: 'Counts', url: `${url}/a2a` },
        { id: 'b', name: 'Elsewhere', url: 'https://elsewhere.example/a2a' },
      ];
      json({ name: 'Far', agents })(response, asked);
    };
    const peer = await add({ api_key: 'sk_far' });
    expect(peer).toMatchObject({ has_api_key: true, status: 'pending', timeout_seconds: 60, enabled: true });
    expect(JSON.stringify(peer)).not.toContain('sk_far');
    const fetched = await waitFor(async () => {
      link.kick();
      const now = await read(peer);
      return now.status === 'healthy' ? now : undefined;
    });
    expect(fetched.agents).toEqual([
      { id: 'a', name: 'Ada', description: 'Counts', url: `${url}/a2a`, protocol_version: '1.0', skills: [] },
    ]);
    // Peers of other tests are at the same address.
    expect(seen).toContainEqual(['/.well-known/agent-card.json', 'Bearer sk_far']);
    expect(fetched.last_fetched_at).not.toBeNull();
  });

  it.each<[string, Answer, RegExp]>([
    ['an error', (response) => void response.writeHead(500).end(), /answered 500/],
    [
      'a way elsewhere',
      (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      /answered 302/,
    ],
    ['no JSON', (response) => void response.end('<html>'), /not JSON/],
    ['no card', json([]), /must be object/],
    ['a card without a way to call it', json({ name: 'X' }), /no JSON-RPC endpoint/],
    ['a card of elsewhere', json({ name: 'X', url: 'https://elsewhere.example/' }), /no JSON-RPC endpoint/],
    ['more than we read', (response) => void response.end('x'.repeat(2_100_000)), /too large/],
    ['nothing at all', (response) => void response.destroy(), /connection failed/],
    ['nothing in time', () => undefined, /no answer in 1 s/],
  ])('that answers %s is failing, with the reason', async (what, wrong, reason) => {
    answer = wrong;
    const peer = await add({ timeout_seconds: what === 'nothing in time' ? 1 : 20 });
    await link.refresh(peer.id, new AbortController().signal);
    expect(await read(peer)).toMatchObject({
      status: 'failing',
      agents: [],
      last_fetch_error: expect.stringMatching(reason),
    });
  });

  it('at an address of the cloud’s metadata is not asked', async () => {
    const path = `/api/companies/${cast.company_id}/a2a/peers`;
    const refused = await send('post', path, { label: 'Meta', url: 'http://169.254.169.254/' });
    expect(refused.status).toBe(400);
    for (const bad of [
      { url },
      { label: 'peer', url },
      { label: 'a:b', url },
      { label: 'x', url: 'file:///x' },
    ])
      expect((await send('post', path, bad)).status).toBe(400);
    const { label } = await add();
    expect((await send('post', path, { label: label.toUpperCase(), url })).status).toBe(409);
  });

  it('is changed by members, but for its URL and key, which are an admin’s and go together', async () => {
    const peer = await add({ api_key: 'sk_far' });
    const patch = async (body: object, who: Who) =>
      (await send('patch', `/api/a2a/peers/${peer.id}`, body, who)).status;
    expect(await patch({ rate_limit_rpm: 5 }, 'agent')).toBe(200);
    expect(await patch({ url: 'https://evil.example/' }, 'agent')).toBe(403);
    expect(await patch({ api_key: null }, 'board_member')).toBe(403);
    expect(await patch({ url: 'https://evil.example/' }, 'board_admin')).toBe(400);
    expect(await patch({ url: 'https://new.example/', api_key: 'sk_new' }, 'board_admin')).toBe(200);
    expect(await read(peer)).toMatchObject({
      url: 'https://new.example/',
      status: 'pending',
      rate_limit_rpm: 5,
    });
  });

  it('has so many calls a minute, counted over all processes', async () => {
    const peer = await add({ rate_limit_rpm: 2 });
    const call = async () => transaction(database, async (tx) => takeCall(tx, peer));
    await call();
    await call();
    await expect(call()).rejects.toMatchObject({ kind: 'rate_limited' });
    await database.db
      .update(schema.a2a_peers)
      .set({ window_started_at: new Date(Date.now() - 61_000) })
      .where(eq(schema.a2a_peers.id, peer.id));
    await call();
    expect(await findPeer(database.db, peer.id)).toMatchObject({ calls: 3, window_calls: 1 });
  });
});

describe('what a peer answers', () => {
  const parts = [{ text: 'Hi' }, { data: { a: 1 } }];

  it('is read in either dialect, as a task or as a message alone', () => {
    const status = { state: 'TASK_STATE_INPUT_REQUIRED', message: { messageId: 'm', parts } };
    const said = { id: 'm', text: 'Hi\n\n{"a":1}' };
    const asked = { task_id: 't', state: 'input_required', said, artifacts: [] };
    expect(readRemote({ result: { task: { id: 't', status } } })).toMatchObject(asked);
    const former = { kind: 'task', id: 't', status: { ...status, state: 'input-required' } };
    expect(readRemote({ result: former })).toMatchObject(asked);
    for (const result of [{ message: { messageId: 'm', parts } }, { kind: 'message', messageId: 'm', parts }])
      expect(readRemote({ result })).toMatchObject({ state: 'completed', said });
  });

  it('tells its cost in the protocol’s spelling of names, in that of earlier releases, or in both at once', () => {
    const usageOf = (usage: unknown) =>
      readRemote({ result: { id: 't', status: { state: 'working' }, metadata: { usage } } }).usage;
    const cost = { cost_usd: 1.5, input_tokens: 10, output_tokens: 5 };
    expect(usageOf({ costUsd: 1.5, inputTokens: 10, outputTokens: 5 })).toEqual(cost);
    expect(usageOf(cost)).toEqual(cost);
    expect(usageOf({ costUsd: 1.5, cost_usd: 9, input_tokens: 10, outputTokens: 5 })).toEqual(cost);
    expect(usageOf({ costUsd: 1.5 })).toEqual({ cost_usd: 1.5, input_tokens: 0, output_tokens: 0 });
    for (const nothing of [undefined, null, {}, { costUsd: -1 }, { costUsd: '1' }, { total: 1 }])
      expect(usageOf(nothing)).toBeNull();
  });

  it('harms nobody: links of other schemes are dropped, unknown states are work, the rest is refused', () => {
    const artifacts = [{ name: 'A\0', parts: [{ url: 'javascript:alert(1)' }] }];
    const odd = { id: 't', status: { state: 'constructor' }, artifacts };
    expect(readRemote({ result: odd })).toMatchObject({
      state: 'working',
      artifacts: [{ name: 'A', url: null }],
    });
    for (const bad of [
      null,
      [],
      7,
      {},
      { result: 1 },
      { result: { id: 't' } },
      { result: { id: 1, status: {} } },
    ])
      expect(() => readRemote(bad)).toThrow(/^(its|the) /);
    expect(() => readRemote({ error: { code: -32001 } })).toThrow(/refused: {2}\(-32001\)/);
    expect(() => readRemote({ error: { code: -32603, message: 'x' } })).toThrow(/refused: x/);
  });
});

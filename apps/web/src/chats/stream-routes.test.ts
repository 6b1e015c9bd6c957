/** A reader of a reply who leaves before the stream begins; over a real socket. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { chatEndpoints } from '@acp/contract';
import { createChat, findChat, postChatMessage } from '@acp/core';
import { transaction } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import {
  actors,
  createAgent,
  createCompany,
  createUser,
  type TestDatabase,
  testDatabase,
  testLogger,
} from '@acp/testkit';
import express from 'express';
import { LiveHub } from '../live/hub.ts';
import { chatStreamRoutes } from './stream-routes.ts';

let kit: TestDatabase;
let hub: LiveHub;
let queue: Queue;
let server: Server | undefined;

beforeAll(async () => {
  kit = await testDatabase();
  queue = await openQueue({ database: kit.database, role: 'client' });
  hub = new LiveHub({ database: kit.database, listener: kit.listener, logger: testLogger() });
  await hub.start();
});
afterAll(async () => {
  hub.close();
  server?.close();
  await queue.stop();
});

it('a reader who has left by the time the stream of a reply begins leaves no stream behind', async () => {
  const { database } = kit;
  const { db: tx } = database;
  const company = await createCompany(tx);
  const actor = actors.user(await createUser(tx), { [company.id]: 'member' });
  const agent = await createAgent(tx, company);
  const { id: messageId, subject } = await transaction(database, async (inner) => {
    const { id } = await createChat(inner, actor, company.id, { agent_id: agent.id });
    const chat = await findChat(inner, id, actor);
    return { ...(await postChatMessage(inner, actor, chat!, { body_markdown: 'Hello' })), subject: chat! };
  });
  const route = chatStreamRoutes(hub).find(({ row }) => row === chatEndpoints.follow)!;
  const [arrived, left, answered] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  const app = express();
  app.get('/', async (request, response) => {
    response.once('close', () => left.resolve());
    arrived.resolve();
    await left.promise;
    await route.handler({ tx, actor, subject, params: { messageId }, request, response } as never, undefined);
    answered.resolve();
  });
  server = createServer(app);
  await new Promise<void>((done) => server!.listen(0, '127.0.0.1', done));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await arrived.promise;
  socket.destroy();
  await answered.promise;
  expect(hub.size).toBe(0);
});

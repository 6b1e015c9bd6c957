import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { createChannel, createSecret } from '@acp/core';
import { createListener, type Listener, schema, transaction } from '@acp/db';
import { loadConfig, Vault } from '@acp/kernel';
import {
  actors,
  cloneDatabase,
  createCompany,
  type FakeTelegram,
  startFakeTelegram,
  type TestDatabase,
  testLogger,
  waitFor,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { ChannelHost } from './channel-host.ts';
import { ChannelRunner } from './channel-runner.ts';

const { channels } = schema;
const vault = new Vault(Buffer.alloc(32, 1));

let test: TestDatabase;
let telegram: FakeTelegram & { token: string };
let listener: Listener;
beforeAll(async () => {
  test = await cloneDatabase('channel_host');
  telegram = await startFakeTelegram();
  listener = createListener({ url: test.url });
});
afterAll(async () => {
  await listener.close();
  await telegram.close();
});

it('a channel that is claimed again before its former connection has ended is held from then on', async () => {
  const { database } = test;
  const { db } = database;
  const company = await createCompany(db);
  const { id } = await transaction(database, async (tx) => {
    await createSecret(tx, actors.system, company.id, { name: 'B', value: telegram.token }, vault);
    const input = { name: 'chat', kind: 'telegram', bot_token: '${secret:B}' } as const;
    return createChannel(tx, actors.system, company.id, input);
  });
  const row = async () => (await db.select().from(channels).where(eq(channels.id, id)))[0]!;
  const set = async (values: Partial<typeof channels.$inferInsert>) =>
    db.update(channels).set(values).where(eq(channels.id, id));
  const config = loadConfig({ SERVICE_TELEGRAM_API_URL: telegram.url, SERVICE_RUN_LEASE_SEC: '5' });
  const storage = {} as never;
  const parts = { config, database, storage, listener, vault, logger: testLogger(), name: 'one' };
  const stops = jest.spyOn(ChannelRunner.prototype, 'stop');
  const host = new ChannelHost(parts);
  // Its connection waits for its secret, and so does whoever ends it.
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const lock = transaction(database, async (tx) => {
    await tx.execute(sql`lock table secrets in access exclusive mode`);
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  host.kick();
  const first = await waitFor(async () => {
    const found = await row();
    return found.held_by === 'one' && found;
  });
  await set({ enabled: false });
  await waitFor(() => stops.mock.calls.length > 0, { what: 'the end of the former connection' });
  await set({ enabled: true, lease_until: new Date(0) });
  host.kick();
  const { lease_until } = await waitFor(async () => {
    const found = await row();
    return found.fence > first.fence && found;
  });
  released.resolve();
  await lock;
  await waitFor(async () => (await row()).lease_until > lease_until, { what: 'a renewed lease' });
  await host.stop();
  stops.mockRestore();
  expect(await row()).toMatchObject({ held_by: null });
});

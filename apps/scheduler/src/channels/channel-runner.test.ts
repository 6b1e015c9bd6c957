import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { claimChannels, createChannel, createSecret, renewChannels } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { Vault } from '@acp/kernel';
import {
  actors,
  createCompany,
  databaseWithQueue,
  type FakeTelegram,
  startFakeTelegram,
  testLogger,
  waitFor,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { ChannelRunner } from './channel-runner.ts';

const { channel_inbox, channels } = schema;
const vault = new Vault(Buffer.alloc(32, 1));

let database: Database;
let telegram: FakeTelegram & { token: string };
let runner: ChannelRunner | undefined;
beforeEach(async () => {
  database = await databaseWithQueue();
  await database.db.update(channels).set({ enabled: false });
  telegram = await startFakeTelegram();
});
afterEach(async () => {
  await runner?.stop();
  await telegram.close();
});

it('hears a bot that has taken the place of another one, which was further', async () => {
  const company = await createCompany(database.db);
  const { id } = await transaction(database, async (tx) => {
    await createSecret(tx, actors.system, company.id, { name: 'B', value: telegram.token }, vault);
    const input = { name: 'chat', kind: 'telegram', bot_token: '${secret:B}' } as const;
    return createChannel(tx, actors.system, company.id, input);
  });
  const before = { bot_id: '999', bot_name: 'former_bot', update_offset: 500_000 };
  await database.db.update(channels).set(before).where(eq(channels.id, id));
  const connect = async (name: string) => {
    await database.db
      .update(channels)
      .set({ lease_until: new Date(0) })
      .where(eq(channels.id, id));
    const [row] = await transaction(database, async (tx) => claimChannels(tx, name, 15, 1));
    const hold = { channel_id: id, held_by: name, fence: row!.fence };
    runner = new ChannelRunner(row!, hold, {
      database,
      vault,
      logger: testLogger(),
      config: { telegram_api_url: telegram.url, slack_api_url: '', attachment_max_upload_bytes: 1 },
    } as unknown as ConstructorParameters<typeof ChannelRunner>[2]);
  };
  const heard = async () => database.db.$count(channel_inbox, eq(channel_inbox.channel_id, id));

  telegram.says(77, 'Hello');
  await connect('one');
  await waitFor(async () => (await heard()) === 1, { timeout_ms: 5000 });

  // As its host does now and then, and then another one takes over.
  await renewChannels(database.db, [{ ...runner!.hold, ...runner!.state }], 15);
  await runner!.stop();
  telegram.says(77, 'Are you there?');
  await connect('two');
  await waitFor(async () => (await heard()) > 1, { timeout_ms: 5000 });
  expect(await heard()).toBe(2);
});

import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type ChannelHold, claimChannels, createChannel } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { actors, createCompany, databaseWithQueue, testLogger, waitFor } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import type { ChannelLink } from './channel-link.ts';
import { OutgoingWorker } from './outgoing-worker.ts';
import { Pace } from './pace.ts';

const { channel_outbox, channels } = schema;

let database: Database;
let over: AbortController;
let worker: OutgoingWorker;
let parts: ConstructorParameters<typeof OutgoingWorker>[0];
let hold: ChannelHold;
/** What was said, in order, and what the vendor does about each. */
let said: string[];
let speak: (text: string) => Promise<void>;
/** Conversation whose messages can't be recorded as sent. */
const BROKEN = 'broken';

beforeEach(async () => {
  database = await databaseWithQueue();
  await database.db.update(channels).set({ enabled: false });
  const company = await createCompany(database.db);
  const channel = await transaction(database, async (tx) =>
    createChannel(tx, actors.system, company.id, {
      name: 'chat',
      kind: 'telegram',
      bot_token: '${secret:B}',
    }),
  );
  const [row] = await transaction(database, async (tx) => claimChannels(tx, 'one', 15, 1));
  hold = { channel_id: channel.id, held_by: 'one', fence: row!.fence };
  over = new AbortController();
  said = [];
  speak = async () => Promise.resolve();
  const link = {
    canChangeTo: () => true,
    speak: async ({ piece }: { piece: { text: string } }) => {
      said.push(piece.text);
      await speak(piece.text);
      return String(said.length);
    },
  } as unknown as ChannelLink;
  parts = {
    database,
    logger: testLogger(),
    hold,
    channel: row!,
    signal: over.signal,
    pace: new Pace(0),
    settle: async () => Promise.resolve(undefined),
  } as unknown as typeof parts;
  worker = new OutgoingWorker(parts);
  worker.use(link);
});
afterEach(async () => {
  over.abort();
  await worker.stop();
  await database.db.execute(sql`drop function if exists broken cascade`);
});

const queue = async (...bodies: { conversation: string; body: string }[]) => {
  const { channel_id } = hold;
  await database.db
    .insert(channel_outbox)
    .values(
      bodies.map((each) => ({ ...each, channel_id, kind: 'notice', thread: '', dedupe_key: each.body })),
    );
};
const pending = async () =>
  database.db.$count(
    channel_outbox,
    sql`${eq(channel_outbox.channel_id, hold.channel_id)} and status = 'pending'`,
  );

it('a message is said once, though another conversation’s could not be recorded meanwhile', async () => {
  await database.db.execute(sql`
    create or replace function broken() returns trigger language plpgsql as $$
      begin raise exception 'disk full'; end $$`);
  await database.db.execute(sql`
    create trigger broken before update on channel_outbox for each row when (old.conversation = ${sql.raw(`'${BROKEN}'`)})
    execute function broken()`);
  const slow = Promise.withResolvers<void>();
  speak = async (text) => (text === 'slow' ? slow.promise : undefined);
  await queue({ conversation: BROKEN, body: 'fails' }, { conversation: 'b', body: 'slow' });
  worker.kick();
  await waitFor(() => said.length === 2);
  // Word of another message, as it arrives at any time.
  for (let n = 0; n < 10; n += 1) {
    worker.kick();
    await new Promise((done) => setTimeout(done, 20));
  }
  slow.resolve();
  await waitFor(async () => (await pending()) === 1);
  expect(said.filter((text) => text === 'slow')).toEqual(['slow']);
});

it('a message of which word arrives while the worker is about to rest is sent', async () => {
  const { db } = database;
  let queued = false;
  // It is queued after the last look at what is due, and before the worker rests.
  const execute = async (query: Parameters<typeof db.execute>[0]) => {
    const answer = await db.execute(query);
    if (!queued && 'in_ms' in (answer.rows[0] ?? {})) {
      queued = true;
      await queue({ conversation: 'a', body: 'late' });
      worker.kick();
    }
    return answer;
  };
  const late = new Proxy(db, { get: (of, name) => (name === 'execute' ? execute : Reflect.get(of, name)) });
  parts.database = { ...database, db: late };
  worker.kick();
  await waitFor(() => said.length > 0, { timeout_ms: 2000 });
  expect(said).toEqual(['late']);
});

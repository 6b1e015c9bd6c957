/** What a stream may see is asked of the database again and again, and some answers are late. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, schema, signal, transaction } from '@acp/db';
import {
  actors,
  createCompany,
  createUser,
  type TestDatabase,
  testDatabase,
  testLogger,
  waitFor,
} from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { LiveHub } from './hub.ts';

let kit: TestDatabase;
let hub: LiveHub | undefined;
/** Since it began to be slow. */
let reads = 0;
let isSlow = false;
const late = Promise.withResolvers<void>();

/** Whose answers to raw statements come late. */
function slow(database: Database): Database {
  const execute = async (...query: Parameters<Database['db']['execute']>) => {
    if (!isSlow) return database.db.execute(...query);
    reads += 1;
    const found = await database.db.execute(...query);
    await late.promise;
    return found;
  };
  const db = new Proxy(database.db, {
    get: (target, name) => (name === 'execute' ? execute : (Reflect.get(target, name) as unknown)),
  });
  return { ...database, db };
}

beforeAll(async () => {
  kit = await testDatabase();
  void kit.notifier;
});
afterAll(() => hub?.close());

it('streams are verified one time after another: an outdated answer never replaces a newer one', async () => {
  const { database, listener } = kit;
  const { memberships } = schema;
  const user = await createUser(database.db);
  const company = await createCompany(database.db);
  await database.db.insert(memberships).values({ company_id: company.id, user_id: user.id, role: 'member' });
  hub = new LiveHub({ database: slow(database), listener, logger: testLogger() });
  await listener.ready();
  await hub.start();
  let ended = false;
  const sink = { write: () => undefined, end: () => void (ended = true), pending: () => 0 };
  await hub.subscribe({ actor: actors.user(user, { [company.id]: 'member' }), only: company.id, sink }, null);
  isSlow = true;
  let signals = 0;
  // Told after the hub.
  listener.on('credentials', (ids) => void (signals += Number(ids.includes(user.id))));
  for (const count of [1, 2]) {
    if (count === 2) await database.db.delete(memberships).where(eq(memberships.user_id, user.id));
    await transaction(database, async (tx) => signal(tx, 'credentials', user.id));
    await waitFor(() => signals === count, { what: 'the signal' });
    expect(reads).toBe(1);
  }
  late.resolve();
  await waitFor(() => ended, { what: 'the end of the stream' });
});

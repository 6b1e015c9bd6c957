import { beforeEach, describe, expect, it } from '@jest/globals';
import { matchesPattern } from '@acp/contract';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { newId, Vault } from '@acp/kernel';
import { actors, cloneDatabase, createCompany, createUser, meetAt } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { randomBytes } from 'node:crypto';
import { lastSequence } from '../events/index.ts';
import { assertKnownPatterns } from './known-patterns.ts';
import {
  claimWebhooks,
  createWebhook,
  deleteDeliveriesBefore,
  fanOut,
  findWebhook,
  nextDelivery,
  recordAttempt,
  releaseWebhook,
  settleWebhooksOf,
  switchOffOverfull,
  updateWebhook,
} from './index.ts';

const { companies, event_cursors, events, event_sequence, outbox, webhook_deliveries, webhooks } = schema;
const vault = new Vault(randomBytes(32));
const rules = { allowed_hosts: [] };

// A separate database: the cursor applies to the whole instance.
let database: Database;
let company: Awaited<ReturnType<typeof createCompany>>;
beforeEach(async () => {
  database = (await cloneDatabase('webhooks_core')).database;
  company = await createCompany(database.db);
});

const listen = async (patterns: string[]) =>
  transaction(database, async (tx) =>
    createWebhook(
      tx,
      actors.system,
      company.id,
      { url: 'https://example.com/hook', events: patterns },
      vault,
      rules,
    ),
  );

const publish = async (...types: string[]) => publishWith({}, types);

async function publishWith(data: object, types: readonly string[]): Promise<void> {
  const last = await lastSequence(database.db);
  const rows = types.map((type, index) => ({
    seq: last + index + 1,
    id: newId(),
    company_id: company.id,
    type,
    data,
    occurred_at: new Date(),
  }));
  await database.db.insert(events).values(rows);
  await database.db.update(event_sequence).set({ last: last + rows.length });
}

const spread = async () => transaction(database, async (tx) => fanOut(tx));
const made = async () =>
  (await database.db.select().from(webhook_deliveries).orderBy(webhook_deliveries.seq)).map(
    ({ event_type }) => event_type,
  );
const cursors = async () => database.db.select().from(event_cursors);

describe('a pattern', () => {
  it.each([
    ['*', 'issue.created', true],
    ['issue.*', 'issue.created', true],
    ['*.created', 'issue.created', true],
    ['issue.*.done', 'issue.review.done', true],
    ['issue.*', 'issue.review.done', false],
    ['issue', 'issue.created', false],
    ['*.*', 'issue', false],
    ['agent.*', 'issue.created', false],
  ])('%s against %s: %s', (pattern, type, matches) => {
    expect(matchesPattern(pattern, type)).toBe(matches);
  });
});

describe('the patterns of a webhook', () => {
  it.each([
    ['issues.*', 'issue.created, issue.deleted, issue.updated'],
    ['issue.create', 'issue.created'],
    ['issue', 'issue.created, issue.deleted, issue.updated'],
    ['routine.fire', 'routine.fired'],
  ])('%s, which no event matches, is refused and its neighbours named', (pattern, nearest) => {
    expect(() => assertKnownPatterns(['*', 'issue.*', pattern])).toThrow(
      `events: no event matches ${pattern}; the nearest types are ${nearest}`,
    );
  });

  it('are taken if any event matches', () => {
    expect(() => assertKnownPatterns(['*', '*.*', 'issue.*', '*.created', 'routine.fired'])).not.toThrow();
  });
});

describe('deliveries', () => {
  it('are made once of each event that a pattern names, by however many processes', async () => {
    await publish('issue_created');
    await listen(['issue.*', '*.created']);
    await publish('issue_created', 'budget_incident', 'agent_created', 'agent_updated');
    await Promise.all([spread(), spread(), spread()]);
    await spread();
    expect(await made()).toEqual(['issue.created', 'agent.created']);
  });

  it('of many long events for many webhooks are made in several steps, in order and each once', async () => {
    for (let count = 0; count < 10; count += 1) await listen(['*']);
    await publishWith(
      { text: 'x'.repeat(300_000) },
      Array.from({ length: 7 }, () => 'issue_created'),
    );
    const counts: number[] = [];
    for (let more = true; more;) {
      more = (await spread())!.more;
      counts.push((await made()).length);
    }
    expect(counts).toEqual([20, 40, 60, 70]);
    const { rows } = await database.pool.query(
      'select webhook_id, count(distinct seq)::int as events from webhook_deliveries group by webhook_id',
    );
    expect(rows).toHaveLength(10);
    expect(rows.every((row: { events: number }) => row.events === 7)).toBe(true);
  });

  it('of an event that alone is more than a step may make are made all the same', async () => {
    await listen(['*']);
    await publishWith({ text: 'x'.repeat(9_000_000) }, ['issue_created', 'issue_deleted']);
    expect((await spread())!.more).toBe(true);
    expect(await made()).toEqual(['issue.created']);
    await spread();
    expect(await made()).toEqual(['issue.created', 'issue.deleted']);
  });

  it('of a webhook that is off, of a company in the trash, and of what no plugin sees are not made', async () => {
    const { id } = await listen(['*']);
    await publish('notification');
    await database.db.update(companies).set({ deleted_at: new Date() }).where(eq(companies.id, company.id));
    await publish('issue_created');
    await spread();
    await database.db.update(companies).set({ deleted_at: null }).where(eq(companies.id, company.id));
    const change = async (enabled: boolean) =>
      transaction(database, async (tx) =>
        updateWebhook(tx, actors.system, (await findWebhook(tx, id))!, { enabled }, vault, rules),
      );
    await change(false);
    await publish('issue_created');
    expect(await spread()).toEqual({ more: false, listening: false });
    expect(await cursors()).toEqual([]);
    // Committed while it is off, and not numbered yet.
    await database.db
      .insert(outbox)
      .values({ event_id: newId(), company_id: company.id, type: 'issue_deleted', data: {} });
    await change(true);
    await database.db.execute(sql`select sequence_outbox(1000)`);
    expect(await cursors()).toHaveLength(1);
    await publish('issue_updated');
    await spread();
    expect(await made()).toEqual(['issue.updated']);
  });

  it('that were lost to the retention are told to the company’s admins', async () => {
    await listen(['*']);
    await publish('issue_created', 'issue_created');
    await database.db.delete(events);
    await spread();
    const { rows } = await database.pool.query(
      `select data->>'message' as said from outbox where type = 'notification'`,
    );
    expect(rows).toEqual([
      { said: 'The webhook to example.com fell behind: up to 2 events were removed before they were sent' },
    ]);
    expect(await spread()).toEqual({ more: false, listening: true });
  });

  it('of a webhook are in the hands of one process, and of another once its lease has lapsed', async () => {
    await listen(['*']);
    await publish('issue_created', 'issue_updated');
    await spread();
    const { db } = database;
    const [{ company_id } = { company_id: '' }] = await db.select().from(webhooks);
    expect(await claimWebhooks(db, 10, 60, [company_id])).toEqual([]);
    const [first] = await claimWebhooks(db, 10, 60);
    expect(await claimWebhooks(db, 10, 60)).toEqual([]);
    const delivery = await nextDelivery(db, first!, 60);
    expect(delivery).toMatchObject({ event_type: 'issue.created' });
    await db.update(webhooks).set({ lease_until: new Date(0) });
    const [second] = await claimWebhooks(db, 10, 60);
    expect(await nextDelivery(db, first!, 60)).toBeUndefined();
    const done = { response_status: 200, error: null };
    const record = async (claimed: typeof first) =>
      transaction(database, async (tx) => recordAttempt(tx, claimed!, delivery!.id, done));
    expect(await record(first)).toBe(false);
    expect(await record(second)).toBe(true);
    expect(await nextDelivery(db, second!, 60)).toMatchObject({ event_type: 'issue.updated' });
    await transaction(database, async (tx) => releaseWebhook(tx, second!));
    expect(await claimWebhooks(db, 10, 60)).toHaveLength(1);
  });

  it('are given up after a day, and the next one has its turn', async () => {
    await listen(['*']);
    await publish('issue_created', 'issue_updated');
    await spread();
    const { db } = database;
    await db.update(webhook_deliveries).set({ queued_at: new Date(Date.now() - 25 * 3_600_000) });
    const [claimed] = await claimWebhooks(db, 10, 60);
    const delivery = await nextDelivery(db, claimed!, 60);
    const failed = { response_status: 500, error: 'it answered 500' };
    expect(await transaction(database, async (tx) => recordAttempt(tx, claimed!, delivery!.id, failed))).toBe(
      false,
    );
    expect(await claimWebhooks(db, 10, 60)).toEqual([]);
    await db.update(webhooks).set({ next_attempt_at: new Date(0) });
    const [again] = await claimWebhooks(db, 10, 60);
    expect(await nextDelivery(db, again!, 60)).toMatchObject({ event_type: 'issue.updated' });
  });

  it('that ended are forgotten with the events, and too many that wait switch the webhook off', async () => {
    const { id } = await listen(['*']);
    await publish('issue_created', 'issue_updated', 'issue_updated');
    await spread();
    const finished_at = new Date(Date.now() - 8 * 86_400_000);
    await database.db
      .update(webhook_deliveries)
      .set({ status: 'delivered', finished_at })
      .where(eq(webhook_deliveries.event_type, 'issue.created'));
    expect(await deleteDeliveriesBefore(database.db, 7, 100)).toBe(1);
    expect(await made()).toEqual(['issue.updated', 'issue.updated']);
    await transaction(database, async (tx) => switchOffOverfull(tx, 2));
    expect(await findWebhook(database.db, id)).toMatchObject({ enabled: true });
    await transaction(database, async (tx) => switchOffOverfull(tx, 1));
    expect(await findWebhook(database.db, id)).toMatchObject({
      enabled: false,
      disabled_reason: 'more than 1 deliveries waited',
    });
  });
});

describe('while events are turned into deliveries', () => {
  /** Two webhooks, stored in the reverse order of their ids, of an admin who has left the company; the higher of them. */
  async function ofSomebodyGone(): Promise<{ high: string; user_id: string }> {
    const user = await createUser(database.db);
    const { id } = await listen(['issue.*']);
    const [low, high] = [
      '00000000-0000-4000-8000-000000000001',
      'ffffffff-ffff-4fff-8fff-ffffffffffff',
    ] as const;
    for (const copy of [high, low])
      await database.db.execute(sql`
        insert into webhooks (id, company_id, url, events, secret_sealed, created_by_user_id, from_seq)
        select ${copy}, company_id, url, events, secret_sealed, ${user.id}, from_seq from webhooks where id = ${id}`);
    await database.db.delete(webhooks).where(eq(webhooks.id, id));
    await publish('issue_created');
    return { high, user_id: user.id };
  }

  it.each<[string, (tx: Tx, user_id: string) => Promise<unknown>]>([
    [
      'those of somebody who has left end',
      async (tx, user_id) => settleWebhooksOf(tx, { user_id, company_id: null }),
    ],
    [
      'those of somebody who has left are handed over',
      async (tx, user_id) => settleWebhooksOf(tx, { user_id, company_id: null, heir: null }),
    ],
  ])('%s', async (_what, act) => {
    const { high, user_id } = await ofSomebodyGone();
    await spread();
    await publish('issue_created');
    const held = sql`select from webhooks where id = ${high} for update`;
    const outcomes = await meetAt(database, held, [async (tx) => act(tx, user_id), async (tx) => fanOut(tx)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  });
});

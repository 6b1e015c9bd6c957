import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor, CompanyRole } from '@acp/contract';
import { lastSequence, recordChanges, systemActor } from '@acp/core';
import { type Database, schema, signal, transaction } from '@acp/db';
import { type TestDatabase, testDatabase, testLogger, waitFor } from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import { LiveHub } from './hub.ts';
import type { Sink } from './subscriber.ts';

let kit: TestDatabase;
let database: Database;
const hubs: LiveHub[] = [];

beforeAll(async () => {
  kit = await testDatabase();
  ({ database } = kit);
  void kit.notifier;
});
afterEach(() => {
  for (const hub of hubs.splice(0)) hub.close();
});

async function openHub(limits: { max_pending_bytes?: number } = {}): Promise<LiveHub> {
  const hub = new LiveHub({ database, listener: kit.listener, logger: testLogger(), ...limits });
  hubs.push(hub);
  await kit.listener.ready();
  await hub.start();
  return hub;
}

/** A reader that keeps what it gets, as parsed frames; `stuck` takes nothing. */
function reader(stuck = false) {
  const chunks: string[] = [];
  const state = { ended: false };
  const sink: Sink = {
    write: (text) => void chunks.push(text),
    end: () => {
      state.ended = true;
    },
    pending: () => (stuck ? chunks.join('').length : 0),
  };
  const frames = () =>
    chunks
      .join('')
      .split('\n\n')
      .filter((frame) => frame.includes('event: '))
      .map((frame) => ({
        id: /^id: (\d+)$/m.exec(frame)?.[1],
        event: /^event: (.+)$/m.exec(frame)![1],
        data: JSON.parse(/^data: (.+)$/m.exec(frame)![1]!) as {
          company_id: string;
          data: Record<string, unknown>;
        },
      }));
  return { sink, frames, state, text: () => chunks.join('') };
}

async function createCompany(): Promise<string> {
  const slug = `c-${randomUUID()}`;
  const [row] = await database.db
    .insert(schema.companies)
    .values({ name: slug, slug, identifier_prefix: 'ABC' })
    .returning();
  return row!.id;
}

async function createMember(company_id: string, role: CompanyRole = 'member') {
  const email = `${randomUUID()}@example.com`;
  const [user] = await database.db.insert(schema.users).values({ email, display_name: 'Reader' }).returning();
  await database.db.insert(schema.memberships).values({ company_id, user_id: user!.id, role });
  const actor: Actor = {
    kind: 'user',
    user_id: user!.id,
    name: 'Reader',
    instance_role: 'member',
    session_id: null,
    roles: { [company_id]: role },
  };
  return actor;
}

const keyOf = (company_id: string): Actor => ({
  kind: 'board_user',
  key_id: randomUUID(),
  company_id,
  role: 'member',
  name: 'integration',
});

/** Publishes events that name their place in the test. */
async function publish(company_id: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await transaction(database, (tx) =>
    recordChanges(
      tx,
      systemActor('test'),
      ids.map((id) => ({
        company_id,
        entity_type: 'issue',
        entity_id: id,
        event: { type: 'issue_deleted', data: { id } },
      })),
    ),
  );
  return ids;
}

const idsOf = (frames: ReturnType<ReturnType<typeof reader>['frames']>) =>
  frames.map(({ data }) => data.data.id);

describe('the live hub', () => {
  it('sends notifications to the company’s admins only, live and replayed', async () => {
    const mine = await createCompany();
    const hub = await openHub();
    const before = await lastSequence(database.db);
    const [admin, member] = [reader(), reader()];
    await hub.subscribe({ actor: await createMember(mine, 'admin'), only: null, sink: admin.sink }, null);
    await hub.subscribe({ actor: await createMember(mine), only: null, sink: member.sink }, null);
    const entity = { entity_type: 'company', entity_id: mine };
    const data = { topic: 'budget', level: 'error', message: 'too dear', ...entity } as const;
    await transaction(database, async (tx) =>
      recordChanges(tx, systemActor('test'), [
        { company_id: mine, ...entity, event: { type: 'notification', data } },
      ]),
    );
    await publish(mine, 1);
    const names = (of: typeof admin) => of.frames().map(({ event }) => event);
    await waitFor(() => admin.frames().length === 2 && member.frames().length === 1);
    expect([names(admin), names(member)]).toEqual([['notification', 'issue_deleted'], ['issue_deleted']]);
    const late = reader();
    await hub.subscribe({ actor: keyOf(mine), only: null, sink: late.sink }, before);
    await waitFor(() => late.frames().length === 1);
    expect(names(late)).toEqual(['issue_deleted']);
  });

  it('sends a committed event to the readers of its company and to nobody else, in sequence', async () => {
    const [mine, foreign] = [await createCompany(), await createCompany()];
    const hub = await openHub();
    const [ours, theirs] = [reader(), reader()];
    await hub.subscribe({ actor: keyOf(mine), only: null, sink: ours.sink }, null);
    await hub.subscribe({ actor: keyOf(foreign), only: null, sink: theirs.sink }, null);
    const ids = [...(await publish(mine, 3)), ...(await publish(mine, 2))];
    const others = await publish(foreign, 1);
    await waitFor(() => theirs.frames().length === 1);
    await waitFor(() => ours.frames().length === 5);
    expect(idsOf(ours.frames())).toEqual(ids);
    expect(idsOf(theirs.frames())).toEqual(others);
    const numbers = ours.frames().map(({ id }) => Number(id));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(hub.metrics.snapshot()[mine]).toEqual({ published: 5, sent: 5, dropped: 0 });
  });

  it('replays to a reconnecting reader what it missed, once and before what is new', async () => {
    const company = await createCompany();
    await publish(company, 1);
    await kit.notifier.sequenceNow();
    const position = await lastSequence(database.db);
    const missed = await publish(company, 700);
    await kit.notifier.sequenceNow();
    const hub = await openHub();
    const late = reader();
    const subscribed = hub.subscribe({ actor: keyOf(company), only: null, sink: late.sink }, position);
    const fresh = await publish(company, 5);
    await subscribed;
    await waitFor(() => late.frames().length === 705);
    expect(idsOf(late.frames())).toEqual([...missed, ...fresh]);
  });

  it('tells a reader that comes from beyond the replay window to start afresh', async () => {
    const company = await createCompany();
    await publish(company, 2);
    await kit.notifier.sequenceNow();
    const last = await lastSequence(database.db);
    const hub = await openHub();
    const ahead = reader();
    await hub.subscribe({ actor: keyOf(company), only: null, sink: ahead.sink }, last + 1000);
    expect(ahead.frames().map(({ event }) => event)).toEqual(['reset']);
  });

  it('refuses a company that the actor may not see', async () => {
    const [mine, foreign] = [await createCompany(), await createCompany()];
    const hub = await openHub();
    const member = await createMember(mine);
    const options = { only: foreign, sink: reader().sink };
    await expect(hub.subscribe({ actor: member, ...options }, null)).rejects.toMatchObject({
      kind: 'not_found',
    });
    await expect(hub.subscribe({ actor: keyOf(mine), ...options }, null)).rejects.toMatchObject({
      kind: 'not_found',
    });
    expect(hub.size).toBe(0);
  });

  it('stops sending to a user at once when the membership is removed', async () => {
    const company = await createCompany();
    const member = await createMember(company);
    const hub = await openHub();
    const theirs = reader();
    const witness = reader();
    await hub.subscribe({ actor: member, only: company, sink: theirs.sink }, null);
    await hub.subscribe({ actor: keyOf(company), only: null, sink: witness.sink }, null);
    await transaction(database, async (tx) => {
      if (member.kind !== 'user') return;
      const { memberships } = schema;
      await tx
        .delete(memberships)
        .where(and(eq(memberships.user_id, member.user_id), eq(memberships.company_id, company)));
      signal(tx, 'credentials', member.user_id);
    });
    await waitFor(() => theirs.state.ended);
    await publish(company, 1);
    await waitFor(() => witness.frames().length === 1);
    expect(theirs.frames()).toHaveLength(0);
  });

  it('drops a reader that does not read, and counts it', async () => {
    const company = await createCompany();
    const hub = await openHub({ max_pending_bytes: 2000 });
    const stuck = reader(true);
    await hub.subscribe({ actor: keyOf(company), only: null, sink: stuck.sink }, null);
    await publish(company, 20);
    await waitFor(() => stuck.state.ended);
    expect(hub.size).toBe(0);
    expect(hub.metrics.snapshot()[company]?.dropped).toBe(1);
  });

  it('counts what was published while nobody listened', async () => {
    const company = await createCompany();
    const hub = await openHub();
    await publish(company, 3);
    await waitFor(async () => (await hub.counters())[company]?.published === 3);
    const ours = reader();
    await hub.subscribe({ actor: keyOf(company), only: null, sink: ours.sink }, null);
    await publish(company, 2);
    await waitFor(() => ours.frames().length === 2);
    expect((await hub.counters())[company]).toEqual({ published: 5, sent: 2, dropped: 0 });
  });

  it('tells its readers to come back when the process stops', async () => {
    const company = await createCompany();
    const hub = await openHub();
    const open = reader();
    await hub.subscribe({ actor: keyOf(company), only: null, sink: open.sink }, null);
    hub.close();
    expect(open.text()).toMatch(/retry: \d+\n: restarting\n\n$/);
    expect(open.state.ended).toBe(true);
  });
});

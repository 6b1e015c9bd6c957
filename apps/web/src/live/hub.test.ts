import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor, CompanyRole, Topic } from '@acp/contract';
import {
  appendRunEvents,
  type Change,
  lastSequence,
  recordChanges,
  revokeRunKeys,
  systemActor,
} from '@acp/core';
import { type Database, schema, signal, transaction } from '@acp/db';
import {
  createKeyOf,
  createRunningRun,
  type TestDatabase,
  testDatabase,
  testLogger,
  waitFor,
} from '@acp/testkit';
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

async function openHub(
  limits: { max_pending_bytes?: number; max_streams_each?: number; heartbeat_ms?: number } = {},
  from = database,
): Promise<LiveHub> {
  const hub = new LiveHub({ database: from, listener: kit.listener, logger: testLogger(), ...limits });
  hubs.push(hub);
  await kit.listener.ready();
  await hub.start();
  return hub;
}

/** A reader that records what it receives as parsed frames; with `stuck` it reads nothing. */
function reader(stuck = false) {
  const chunks: string[] = [];
  const positions: number[] = [];
  const state = { ended: false };
  const sink: Sink = {
    position: (seq) => void positions.push(seq),
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
  return { sink, frames, positions, state, text: () => chunks.join('') };
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

/** Publishes events that carry their position in the test. */
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
    expect(ahead.frames()).toMatchObject([{ event: 'reset', id: String(last) }]);
    expect(ahead.positions).toEqual([last]);
  });

  it('tells a reader where it begins, and how far it is after what was not for it', async () => {
    const [mine, foreign] = [await createCompany(), await createCompany()];
    await publish(mine, 2);
    await kit.notifier.sequenceNow();
    const hub = await openHub({ heartbeat_ms: 20 });
    const last = await lastSequence(database.db);
    const [fresh, late, witness] = [reader(), reader(), reader()];
    await hub.subscribe({ actor: keyOf(mine), only: null, sink: fresh.sink }, null);
    await hub.subscribe({ actor: keyOf(mine), only: null, sink: late.sink }, last - 1);
    await hub.subscribe({ actor: keyOf(foreign), only: null, sink: witness.sink }, null);
    expect([fresh.positions, late.positions]).toEqual([[last], [last]]);
    await publish(foreign, 3);
    await waitFor(() => witness.frames().length === 3);
    await waitFor(() => fresh.positions.length > 1 && late.positions.length > 1);
    const beats = () => witness.text().split('\n:\n').length;
    const heard = beats();
    await waitFor(() => beats() > heard + 1);
    expect([fresh.positions, late.positions]).toEqual([
      [last, last + 3],
      [last, last + 3],
    ]);
    // A number that an event has told already is not repeated.
    expect(witness.positions).toEqual([last]);
  });

  it('refuses one caller more streams than its share, and lets others in', async () => {
    const company = await createCompany();
    const hub = await openHub({ max_streams_each: 2 });
    const [one, other] = [await createMember(company), await createMember(company)];
    const open = async (actor: typeof one) => hub.subscribe({ actor, only: null, sink: reader().sink }, null);
    const [first] = [await open(one), await open(one)];
    await expect(open(one)).rejects.toMatchObject({ kind: 'rate_limited', retry_after_sec: 30 });
    await open(other);
    hub.unsubscribe(first);
    await open(one);
    expect(hub.size).toBe(3);
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

  it('ends what a run’s key has opened with the run, and what an agent’s has with the agent', async () => {
    const { run, ada: agent } = await createRunningRun(database.db);
    const [kept, given_up] = await transaction(database, async (tx) =>
      Promise.all([createKeyOf(tx, agent), createKeyOf(tx, agent, { run_id: run.run_id })]),
    );
    const hub = await openHub();
    const open = async (key_id: string, run_id: string | null) => {
      const one = reader();
      const actor = { ...run.actor, key_id, run_id };
      await hub.subscribe({ actor, only: null, sink: one.sink }, null);
      return one.state;
    };
    const [ofRun, ofAgent] = [await open(given_up.id, run.run_id), await open(kept.id, null)];
    await transaction(database, async (tx) => revokeRunKeys(tx, [{ id: run.run_id, agent_id: agent.id }]));
    await waitFor(() => ofRun.ended);
    expect(ofAgent.ended).toBe(false);
    await transaction(database, async (tx) => {
      await tx.update(schema.agents).set({ status: 'terminated' }).where(eq(schema.agents.id, agent.id));
      signal(tx, 'credentials', agent.id);
    });
    await waitFor(() => ofAgent.ended);
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

  it('reads what it could not read as soon as it can, without waiting for another event', async () => {
    const outage = { on: false, reads: 0 };
    const db = new Proxy(database.db, {
      get(target, name) {
        if (outage.on && name === 'select') {
          outage.reads += 1;
          throw new Error('the database is away');
        }
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const hub = await openHub({ heartbeat_ms: 20 }, { ...database, db });
    const company = await createCompany();
    const { sink, frames } = reader();
    await hub.subscribe({ actor: keyOf(company), only: null, sink }, null);
    outage.on = true;
    const ids = await publish(company, 1);
    await waitFor(() => outage.reads > 0, { what: 'the read to fail' });
    outage.on = false;
    await waitFor(() => frames().length === 1, { what: 'the event' });
    expect(idsOf(frames())).toEqual(ids);
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

describe('topics', () => {
  it('narrow a stream, live and replayed, to what is about them, each event once', async () => {
    const company_id = await createCompany();
    const hub = await openHub();
    const [wanted, other] = [randomUUID(), randomUUID()];
    const before = await lastSequence(database.db);
    const open = async (topics: Topic[] | undefined, after: number | null = null) => {
      const { sink, frames } = reader();
      await hub.subscribe({ actor: keyOf(company_id), only: null, topics, sink }, after);
      return () => frames().map(({ event, data }) => [event, data.data.id ?? data.data.issue_id]);
    };
    const issue = await open([`issue:${wanted}`, 'issues']);
    const board = await open(['issues']);
    const comments = await open(['comments', `issue:${other}`]);
    const foreign = await open(['admin', 'agents', `run:${wanted}`]);
    const everything = await open(undefined);
    // Only the fields that topics depend on; the rest of the data does not matter here.
    const change = (type: string, data: object) =>
      ({ company_id, entity_type: 'issue', entity_id: wanted, event: { type, data } }) as Change;
    await transaction(database, async (tx) =>
      recordChanges(tx, systemActor('test'), [
        change('issue_deleted', { id: wanted }),
        change('issue_deleted', { id: other }),
        change('comment_created', { issue_id: wanted }),
        change('agent_updated', { id: other }),
      ]),
    );
    await waitFor(() => everything().length === 4);
    const [first, second] = [
      ['issue_deleted', wanted],
      ['issue_deleted', other],
    ];
    const said = ['comment_created', wanted];
    expect(issue()).toEqual([first, second, said]);
    expect(board()).toEqual([first, second]);
    expect(comments()).toEqual([second, said]);
    expect(foreign()).toEqual([['agent_updated', other]]);
    const late = await open([`issue:${wanted}`], before);
    await waitFor(() => late().length === 2);
    expect(late()).toEqual([first, said]);
  });

  it('take the frames of a run to those who look at it or its issue; what nobody looks at is not read', async () => {
    const { run } = await createRunningRun(database.db);
    const { run_id, company_id, issue_id } = run;
    const hub = await openHub();
    const open = async (topics: Topic[]) => {
      const { sink, frames } = reader();
      await hub.subscribe({ actor: keyOf(company_id), only: null, topics, sink }, null);
      return () => frames().map(({ data }) => data.data.seq ?? 'event');
    };
    const board = await open(['issues']);
    /** Publishes a transcript line and an event; counts the queries until the event has arrived. */
    const say = async (seq: number) => {
      const [before, arrived] = [database.statements(), board().length];
      await transaction(database, async (tx) =>
        appendRunEvents(tx, run, seq, [{ kind: 'output', payload: { text: 'hello' } }]),
      );
      await publish(company_id, 1);
      await waitFor(() => board().length > arrived);
      return () => database.statements() - before;
    };
    const unread = (await say(1))();
    const [ofRun, ofIssue] = [await open([`run:${run_id}`]), await open([`issue:${issue_id!}`])];
    const ofOther = await open([`run:${randomUUID()}`, 'runs']);
    const statements = await say(2);
    await waitFor(() => ofRun().length === 1 && ofIssue().length === 1);
    expect([ofRun(), ofIssue(), ofOther()]).toEqual([[2], [2], []]);
    expect(board()).toEqual(['event', 'event']);
    expect(statements()).toBe(unread + 1);
  });

  it('take the frames of a run for admins to no member, whatever the member asks for', async () => {
    const { run, company } = await createRunningRun(database.db);
    const hub = await openHub();
    const open = async (role: CompanyRole, topics?: Topic[]) => {
      const { sink, frames } = reader();
      const actor = await createMember(company.id, role);
      await hub.subscribe({ actor, only: null, topics, sink }, null);
      return () => frames().map(({ data }) => data.data.seq);
    };
    const topics: Topic[] = [`run:${run.run_id}`];
    const [admin, members] = [
      await open('admin', topics),
      [await open('member'), await open('member', topics)],
    ];
    const say = async (seq: number, admins_only: boolean) =>
      transaction(database, async (tx) => {
        const audience = { topic: null, admins_only, private_to_user_id: null };
        await appendRunEvents(tx, { ...run, audience }, seq, [{ kind: 'log', payload: {} }]);
      });
    await say(1, true);
    await waitFor(() => admin().length === 1);
    await say(2, false);
    await waitFor(() => members.every((member) => member().length === 1));
    expect([admin(), ...members.map((member) => member())]).toEqual([[1, 2], [2], [2]]);
  });

  it('cost one read for ten thousand clients of a board', async () => {
    const company_id = await createCompany();
    const hub = await openHub();
    const read = async (count: number) => {
      let got = 0;
      const sink: Sink = { write: () => void (got += 1), end: () => undefined, pending: () => 0 };
      for (let n = 0; n < count; n += 1)
        await hub.subscribe({ actor: keyOf(company_id), only: null, topics: ['issues'], sink }, null);
      got = 0;
      const before = database.statements();
      await publish(company_id, 1);
      await waitFor(() => got >= count);
      return database.statements() - before;
    };
    expect(await read(1)).toBeLessThan(10);
    expect(await read(9999)).toBeLessThan(10);
    expect(hub.metrics.snapshot()[company_id]).toEqual({ published: 2, sent: 10_001, dropped: 0 });
  });
});

/**
 * Malicious or broken peers: what they leave behind is bounded, and no one else waits for them.
 * @in-order the silent peers of the last test hold the company’s places for a while
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  claimDelegations,
  delegate,
  deletePeer,
  findIssue,
  type FoundPeerAgent,
  type PeerRow,
  recordFetch,
  updatePeer,
} from '@acp/core';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { loadConfig, newId, Vault } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  databaseWithQueue,
  testLogger,
  waitFor,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { followDelegation } from '../../apps/scheduler/src/federation/follow-delegation.ts';
import { PeerLink } from '../../apps/scheduler/src/federation/peer-link.ts';
import { type Behaviour, startWilfulAgent } from './far-agents.ts';

const { a2a_delegations, a2a_peers, comments, companies, cost_events, issues, work_products } = schema;

let database: Database;
let link: PeerLink;
let far: Awaited<ReturnType<typeof startWilfulAgent>>;
let company_id: string;

beforeAll(async () => {
  database = await databaseWithQueue();
  // Peers of earlier test files do not answer.
  await database.db.delete(a2a_peers);
  ({ id: company_id } = await createCompany(database.db));
  far = await startWilfulAgent();
  const config = loadConfig({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) });
  link = new PeerLink({ database, vault: new Vault(config.encryption_key), logger: testLogger(), config });
});

// What an earlier test delegated would be followed in the next, which counts what the peer is asked.
beforeEach(async () => {
  await database.db.update(a2a_delegations).set({ next_attempt_at: null });
});

afterAll(async () => {
  far.close();
  await link.stop();
});

const within = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transaction(database, work);

async function addPeer(values: Partial<typeof a2a_peers.$inferInsert> = {}): Promise<PeerRow> {
  const url = far.url.replace(/\/$/, '');
  const row = { company_id, label: `P ${newId().slice(0, 8)}`, url, status: 'healthy', ...values };
  const [peer] = await database.db
    .insert(a2a_peers)
    .values({
      timeout_seconds: 5,
      rate_limit_rpm: 10_000,
      ...row,
      next_refresh_at: new Date(Date.now() + 9e8),
    })
    .returning();
  return peer!;
}

const faraday = (): FoundPeerAgent['agent'] => ({
  id: 'f',
  name: 'Faraday',
  description: '',
  url: `${far.url}/rpc`,
  protocol_version: '1.0',
  skills: [],
});

/** Delegates work to the peer; returns the child issue that follows it. */
async function given(peer: PeerRow): Promise<string> {
  const agent = faraday();
  return transaction(database, async (tx) => {
    const { id } = await createIssue(tx, { id: peer.company_id });
    const parent = (await findIssue(tx, id))!;
    return (await delegate(tx, actors.system, parent, { peer, agent })).id;
  });
}

const delegation = async (id: string) =>
  (await database.db.select().from(a2a_delegations).where(eq(a2a_delegations.issue_id, id)))[0]!;

/** Runs one step; it is claimed until it is over. */
async function step(id: string, before?: object): Promise<Awaited<ReturnType<typeof delegation>>> {
  const due = { next_attempt_at: sql`now()`, claimed_at: sql`'epoch'::timestamptz`, ...before };
  await database.db.update(a2a_delegations).set(due).where(eq(a2a_delegations.issue_id, id));
  return waitFor(async () => {
    const now = await delegation(id);
    if (now.claimed_at === null || now.next_attempt_at === null) return now;
    // Once it is claimed, another kick could already take the next step.
    if (now.claimed_at.getTime() === 0) link.kick();
    return undefined;
  });
}

const says = async (id: string) =>
  (
    await database.db
      .select({ text: comments.body_markdown })
      .from(comments)
      .where(eq(comments.issue_id, id))
      .orderBy(comments.created_at)
  ).map(({ text }) => text);
const statusOf = async (id: string) =>
  (await database.db.select({ status: issues.status }).from(issues).where(eq(issues.id, id)))[0]!.status;

const state = (word: string, message?: object, more: object = {}) => ({
  id: 'far',
  status: { state: `TASK_STATE_${word}`, ...(message && { message }) },
  ...more,
});
let n = 0;
const words = (text: string) => ({ messageId: `m${(n += 1)}`, parts: [{ text }] });
/** Answers both a send and a poll with a task. */
const answering =
  (task: () => object, other: Behaviour = () => ({ error: { code: -32_003 } })): Behaviour =>
  (asked) =>
    asked.method === 'SendMessage'
      ? { result: { task: task() } }
      : asked.method === 'GetTask'
        ? { result: task() }
        : other(asked);

describe('a peer', () => {
  it('that gives ever more artifacts leaves a hundred, of one name once', async () => {
    far.behave(
      answering(() => {
        const artifacts = Array.from({ length: 70 }, () => ({
          artifactId: `a${(n += 1)}`,
          parts: [{ text: 'x' }],
        }));
        return state('WORKING', undefined, { artifacts: [...artifacts, artifacts[0]] });
      }),
    );
    const id = await given(await addPeer());
    for (const kept of [70, 100, 100]) {
      expect((await step(id)).artifacts).toHaveLength(kept);
      expect(await database.db.$count(work_products, eq(work_products.issue_id, id))).toBe(kept);
    }
  });

  it('that talks on and on is heard up to a bound, and then in its last words', async () => {
    let word = 'WORKING';
    far.behave(answering(() => state(word, words('and another thing'))));
    const id = await given(await addPeer());
    expect((await step(id)).words).toBe(1);
    expect((await step(id, { words: 199 })).words).toBe(200);
    expect((await step(id)).words).toBe(200);
    expect(await says(id)).toHaveLength(2);
    word = 'COMPLETED';
    await step(id);
    expect(await says(id)).toHaveLength(3);
    expect(await statusOf(id)).toBe('done');
  });

  it('that asks on and on is called off', async () => {
    far.behave(
      answering(
        () => state('INPUT_REQUIRED', words('And now?')),
        () => ({ result: state('CANCELED') }),
      ),
    );
    const id = await given(await addPeer());
    await step(id, { words: 200 });
    expect(await statusOf(id)).toBe('cancelled');
    expect(await says(id)).toEqual(['It asked too often, and is called off.']);
    expect((await step(id)).next_attempt_at).toBeNull();
    const called_off = far.journal.find(({ method }) => method === 'CancelTask');
    expect(called_off?.params).toEqual({ id: 'far' });
  });

  it('that answers about another task, or in endless brackets, is not believed, and asked again later', async () => {
    let task: object = state('WORKING');
    far.behave(answering(() => task));
    const id = await given(await addPeer());
    await step(id);
    task = { ...state('COMPLETED', words('of somebody else')), id: 'another' };
    expect(await step(id)).toMatchObject({
      error: 'it answered about another task',
      failures: 1,
      remote_task_id: 'far',
    });
    let deep: unknown = [];
    for (let level = 0; level < 2000; level += 1) deep = [deep];
    task = state('WORKING', { messageId: 'd', parts: [{ data: deep }] });
    expect(await step(id)).toMatchObject({ error: 'its answer is nested too deeply', failures: 2 });
    expect(await says(id)).toEqual([]);
    expect(await statusOf(id)).toBe('in_progress');
  });

  it.each([-32_602, -32_004])(
    'that refuses the work itself (%s) is not asked again: the reason is told',
    async (code) => {
      far.behave(() => ({ error: { code, message: 'not for me' } }));
      const id = await given(await addPeer());
      expect((await step(id)).next_attempt_at).toBeNull();
      expect(await statusOf(id)).toBe('cancelled');
      expect(await says(id)).toEqual([
        `The peer could not be reached any more: the peer refused: not for me (${code})`,
      ]);
    },
  );

  it('that finds the work too long is not asked again: the reason is told', async () => {
    far.behave(() => 413);
    const id = await given(await addPeer());
    expect((await step(id)).next_attempt_at).toBeNull();
    expect(await statusOf(id)).toBe('cancelled');
    expect((await says(id)).at(-1)).toContain('it answered 413: this is longer than it takes');
  });

  it('that was replaced by one elsewhere gets neither the new key nor a word about the new address', async () => {
    far.behave(answering(() => state('WORKING')));
    const peer = await addPeer();
    const open = await given(peer);
    await step(open);
    await waitFor(() => far.journal.length === 2);
    const vault = new Vault(loadConfig({ SERVICE_ENCRYPTION_KEY: '7'.repeat(64) }).encryption_key);
    const moved = { url: 'http://peer.example:9', api_key: 'key-of-the-new-peer' };
    await transaction(database, async (tx) =>
      updatePeer(tx, actors.board({ id: company_id }, 'admin'), peer, moved, vault),
    );
    for (const id of [open, await given(peer)]) {
      expect((await step(id)).next_attempt_at).toBeNull();
      expect(await statusOf(id)).toBe('cancelled');
      expect((await says(id)).at(-1)).toContain('the peer has moved since it was given this');
    }
    expect(far.journal).toHaveLength(2);
    // A fetch of the former card that ends only now.
    const late = { agents: [{ ...faraday(), name: 'Impostor' }] };
    await transaction(database, async (tx) => recordFetch(tx, peer, late));
    const [now] = await database.db.select().from(a2a_peers).where(eq(a2a_peers.id, peer.id));
    expect(now).toMatchObject({ agents: [], last_fetched_at: null });
  });

  it('that does not take words at work goes on with the task, and they are not sent again', async () => {
    far.behave((asked) =>
      asked.params.message && far.journal.length > 1
        ? { error: { code: -32_004, message: 'I am at it' } }
        : answering(() => state('WORKING'))(asked),
    );
    const id = await given(await addPeer());
    await step(id);
    const { id: author_agent_id } = await createAgent(database.db, { id: company_id });
    await database.db
      .insert(comments)
      .values({ company_id, issue_id: id, author_agent_id, body_markdown: 'Faster!' });
    expect(await step(id)).toMatchObject({ error: null, state: 'working' });
    expect((await says(id)).at(-1)).toBe(
      'It did not take what was written here: the peer refused: I am at it (-32004)',
    );
    const sent = () => far.journal.filter(({ method }) => method === 'SendMessage').length;
    expect(sent()).toBe(2);
    await step(id);
    expect(sent()).toBe(2);
  });

  const vault = new Vault(null);
  const revocations: [string, (peer: PeerRow, id: string) => Promise<unknown>][] = [
    [
      'is switched off',
      async (peer) => within((tx) => updatePeer(tx, actors.system, peer, { enabled: false }, vault)),
    ],
    ['is deleted', async (peer) => within((tx) => deletePeer(tx, actors.system, peer))],
    [
      'moves elsewhere',
      async (peer) =>
        database.db.update(a2a_peers).set({ url: 'http://peer.example:9' }).where(eq(a2a_peers.id, peer.id)),
    ],
    [
      'answers so late that another has taken over',
      async (_, id) =>
        database.db
          .update(a2a_delegations)
          .set({ claimed_at: new Date() })
          .where(eq(a2a_delegations.issue_id, id)),
    ],
  ];
  it.each(revocations)(
    'that %s during its answer says, brings, ends and costs nothing any more',
    async (_, revoke) => {
      const peer = await addPeer();
      const id = await given(peer);
      far.behave(async () => {
        await revoke(peer, id);
        return {
          result: {
            task: state('COMPLETED', words('Pay me.'), {
              artifacts: [{ artifactId: 'a', parts: [{ text: 'x' }] }],
              metadata: { usage: { costUsd: 5 } },
            }),
          },
        };
      });
      const [claimed] = await within(async (tx) => claimDelegations(tx, 1));
      const { signal } = new AbortController();
      await followDelegation(
        { database, vault, fetchFor: () => fetch, public_url: 'http://localhost' },
        claimed!,
        signal,
      );
      expect(far.journal.map(({ method }) => method)).toEqual(['SendMessage']);
      expect(await says(id)).toEqual([]);
      expect(await statusOf(id)).toBe('in_progress');
      expect(await database.db.$count(work_products, eq(work_products.issue_id, id))).toBe(0);
      expect(await database.db.$count(cost_events, eq(cost_events.issue_id, id))).toBe(0);
    },
  );

  it('that can’t cancel is not asked to for a day', async () => {
    far.behave(
      answering(
        () => state('WORKING'),
        () => ({ error: { code: -32_002, message: 'too late' } }),
      ),
    );
    const id = await given(await addPeer());
    await step(id);
    await database.db.update(issues).set({ status: 'cancelled' }).where(eq(issues.id, id));
    expect((await step(id)).next_attempt_at).toBeNull();
  });

  it('whose calls of the minute are used up is no failing peer: the work waits for the next minute', async () => {
    far.behave(answering(() => state('WORKING')));
    const id = await given(
      await addPeer({ rate_limit_rpm: 1, window_calls: 1, window_started_at: new Date() }),
    );
    const put_off = await step(id);
    expect(put_off).toMatchObject({ failures: 0, failing_since: null, remote_task_id: null });
    expect(put_off.next_attempt_at!.getTime()).toBeGreaterThan(Date.now() + 50_000);
  });

  it('that is switched off, or whose company is in the trash, rests, and with it what it was given', async () => {
    far.behave(answering(() => state('WORKING')));
    const { id: other_id } = await createCompany(database.db);
    const [off, trashed] = [await addPeer({ enabled: false }), await addPeer({ company_id: other_id })];
    const works = [await given(off), await given(trashed)];
    await database.db
      .update(companies)
      .set({ deleted_at: sql`now()` })
      .where(eq(companies.id, other_id));
    await database.db
      .update(a2a_peers)
      .set({ next_refresh_at: sql`now()` })
      .where(eq(a2a_peers.id, trashed.id));
    const later = Date.now() + 50 * 60_000;
    await waitFor(async () => {
      link.kick();
      const [at] = await database.db
        .select({ next: a2a_peers.next_refresh_at })
        .from(a2a_peers)
        .where(eq(a2a_peers.id, trashed.id));
      const given_at = await Promise.all(works.map(async (id) => (await delegation(id)).next_attempt_at));
      return [at?.next, ...given_at].every((due) => (due?.getTime() ?? 0) > later);
    });
    expect(far.journal).toEqual([]);
    await transaction(database, async (tx) => updatePeer(tx, actors.system, off, { enabled: true }, vault));
    await waitFor(async () => {
      link.kick();
      return (await delegation(works[0]!)).remote_task_id === 'far';
    });
  });

  it('that does not answer holds up the others of its company to a part, and those of another not at all', async () => {
    const slow = await addPeer({ timeout_seconds: 600 });
    const other = await addPeer({ company_id: (await createCompany(database.db)).id });
    far.behave(() => 'silence');
    for (let work = 0; work < 12; work += 1) await given(slow);
    await waitFor(() => {
      link.kick();
      return far.journal.length >= 8;
    });
    far.behave(answering(() => state('COMPLETED', words('Here you are.'))));
    const id = await given(other);
    await step(id);
    expect(await statusOf(id)).toBe('done');
    // Only a limited share of the slow peer's steps was started.
    const held = sql`peer_id = ${slow.id} and claimed_at is not null`;
    expect(await database.db.$count(a2a_delegations, held)).toBeLessThan(12);
  });
});

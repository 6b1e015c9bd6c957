import { beforeAll, expect, it } from '@jest/globals';
import { type Database, schema, transaction, type Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createCompany, createIssue, databaseWithQueue, nextInstant } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { createComment } from '../comments/index.ts';
import { findIssue } from '../issues/index.ts';
import { applyRemote, commentsToForward, endDelegation, postponeDelegation, recordFailure } from './index.ts';

const { a2a_delegations, a2a_peers } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

/** An issue whose work a peer has. */
async function delegated() {
  const company = await createCompany(database.db);
  const issue = await createIssue(database.db, company, { status: 'in_progress' });
  const [peer] = await database.db
    .insert(a2a_peers)
    .values({ company_id: company.id, label: 'Far', url: 'https://far.example' })
    .returning();
  await database.db.insert(a2a_delegations).values({
    issue_id: issue.id,
    company_id: company.id,
    peer_id: peer!.id,
    remote_agent: 'Ada',
    remote_url: 'https://far.example/rpc',
    dialect: '1.0',
    message_id: newId(),
    remote_task_id: 'task',
    forwarded_at: sql`now() - interval '1 hour'`,
  });
  const say = async (tx: Tx, body_markdown: string) =>
    createComment(tx, actors.board(company), (await findIssue(tx, issue.id))!, { body_markdown });
  const claim = async () => {
    await nextInstant();
    const [delegation] = await database.db
      .update(a2a_delegations)
      .set({ claimed_at: sql`now()`, next_attempt_at: sql`now() + interval '1 minute'` })
      .where(eq(a2a_delegations.issue_id, issue.id))
      .returning();
    return delegation!;
  };
  /** A step that learns no answer. */
  const attempt = async () => commentsToForward(database.db, await claim());
  /** What one step forwards. */
  const forward = async (): Promise<string | null> => {
    const delegation = await claim();
    const words = await commentsToForward(database.db, delegation);
    const remote = {
      task_id: 'task',
      context_id: null,
      state: 'working',
      said: null,
      artifacts: [],
      usage: null,
    } as const;
    await transaction(database, async (tx) =>
      applyRemote(tx, delegation, remote, words ? { words } : undefined),
    );
    return words?.text ?? null;
  };
  return { issue, say, claim, attempt, forward };
}

it('a comment is forwarded though its transaction began before one that was forwarded, and each only once', async () => {
  const { say, forward } = await delegated();
  await transaction(database, async (slow) => {
    await say(slow, 'first');
    await nextInstant();
    await transaction(database, async (tx) => say(tx, 'second'));
    expect([await forward(), await forward()]).toEqual(['second', null]);
    await transaction(database, async (tx) => say(tx, 'third'));
    expect(await forward()).toBe('third');
  });
  expect([await forward(), await forward()]).toEqual(['first', null]);
});

it('a message whose answer was lost is sent again as it was: what is written meanwhile, or was before, waits for the next', async () => {
  const { say, attempt, forward } = await delegated();
  let lost: Awaited<ReturnType<typeof attempt>> = null;
  await transaction(database, async (slow) => {
    await say(slow, 'slow');
    await nextInstant();
    await transaction(database, async (tx) => say(tx, 'first'));
    lost = await attempt();
  });
  await transaction(database, async (tx) => say(tx, 'second'));
  expect(await attempt()).toMatchObject({ text: 'first', message_id: lost!.message_id });
  expect([await forward(), await forward(), await forward()]).toEqual(['first', 'slow\n\nsecond', null]);
});

it('a message whose comments were deleted before it was sent again gives way to the next', async () => {
  const { say, attempt, forward } = await delegated();
  await transaction(database, async (tx) => say(tx, 'first'));
  const lost = await attempt();
  await database.pool.query('delete from comments where id = $1', [lost!.message_id]);
  await transaction(database, async (tx) => say(tx, 'second'));
  expect(await forward()).toBe('second');
});

it('many comments of one moment are forwarded in several messages', async () => {
  const { say, forward } = await delegated();
  await transaction(database, async (tx) => {
    for (let n = 0; n < 25; n += 1) await say(tx, `[${n}]`);
  });
  const sent = [await forward(), await forward(), await forward()];
  expect(sent.map((text) => text?.split('\n\n').length)).toEqual([20, 5, undefined]);
  expect(new Set(sent.slice(0, 2).join('\n\n').split('\n\n')).size).toBe(25);
});

it('long comments are forwarded in messages of limited length; what is cut off one is told', async () => {
  const { say, forward } = await delegated();
  const texts = ['a'.repeat(60_000), 'b'.repeat(60_000), 'c'.repeat(30_000), 'd'.repeat(150_000), 'e'];
  for (const text of texts) {
    await transaction(database, async (tx) => say(tx, text));
    await nextInstant();
  }
  const [a, b, c, d, e] = texts;
  expect(await forward()).toBe(a);
  expect(await forward()).toBe(`${b}\n\n${c}`);
  expect(await forward()).toBe(
    `${d!.slice(0, 100_000)}\n\n(Cut: this comment has 150000 characters, of which these are 100000.)`,
  );
  expect([await forward(), await forward()]).toEqual([e, null]);
});

it('a step that took so long that another scheduler has taken over has no effect', async () => {
  const { issue, claim } = await delegated();
  const [late, now] = [await claim(), await claim()];
  const acts = {
    postpone: async (tx: Tx) => postponeDelegation(tx, late, 'rate limit'),
    end: async (tx: Tx) => endDelegation(tx, late),
    fail: async (tx: Tx) => recordFailure(tx, late, 'x', true),
  };
  for (const act of Object.values(acts)) {
    await transaction(database, act);
    const [row] = await database.db
      .select()
      .from(a2a_delegations)
      .where(eq(a2a_delegations.issue_id, issue.id));
    expect(row).toEqual(now);
  }
});

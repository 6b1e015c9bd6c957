import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor, CreateComment } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { encodeCursor, newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  queuedJobs,
  nextInstant,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import type { IssueRow } from '../issues/index.ts';
import { createComment, listComments, pinComment, sendComment } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const [ada, bob] = [
    await createAgent(database.db, company, { name: 'Ada Lovelace' }),
    await createAgent(database.db, company, { name: 'Bob' }),
  ];
  const user = await createUser(database.db, { display_name: 'Grace' });
  const human = actors.user(user, { [company.id]: 'member' });
  const make = async (values: Parameters<typeof createIssue>[2] = {}) =>
    createIssue(database.db, company, values);
  return { company, ada, bob, user, human, make };
}

const say = async (actor: Actor, issue: IssueRow, text: string, more: Partial<CreateComment> = {}) =>
  transaction(database, (tx) => createComment(tx, actor, issue, { body_markdown: text, ...more }));

const woken = async (issue: { id: string }) => {
  const rows = await database.db
    .select()
    .from(schema.wakeup_requests)
    .where(eq(schema.wakeup_requests.issue_id, issue.id));
  return Object.fromEntries(rows.map((row) => [row.agent_id, row.reason]));
};

const row = async (issue: { id: string }) => {
  const [found] = await database.db.select().from(schema.issues).where(eq(schema.issues.id, issue.id));
  return found;
};

describe('createComment', () => {
  it('is the same comment in its answer, its row and its event, whether it was waited for or not', async () => {
    const s = await stage();
    const issue = await s.make();
    for (const actor of [s.human, actors.agent(s.ada), actors.board(s.company, 'member')]) {
      const waited = await say(actor, issue, 'waited for');
      const sent = await transaction(database, async (tx) =>
        sendComment(tx, actor, issue, { body_markdown: 'sent' }),
      );
      for (const comment of [waited, await sent.comment]) {
        const { items } = await listComments(database.db, issue, {});
        const events = await database.db.execute(sql`
          select data from outbox where type = 'comment_created' and data ->> 'id' = ${comment.id}`);
        const known: unknown = JSON.parse(JSON.stringify(comment));
        expect(JSON.parse(JSON.stringify(items))).toContainEqual(known);
        expect(events.rows).toEqual([{ data: known }]);
      }
    }
  });

  it('wakes the mentioned for the mention and the assignee for the comment, each by a job', async () => {
    const s = await stage();
    const issue = await s.make({ assignee_agent_id: s.bob.id });
    const comment = await say(s.human, issue, 'please, @ada-lovelace');
    expect(comment).toMatchObject({
      author_user_id: s.user.id,
      author_user_name: 'Grace',
      author_agent_id: null,
      is_pinned: false,
    });
    expect(await woken(issue)).toEqual({ [s.ada.id]: 'mention', [s.bob.id]: 'comment' });
    for (const agent of [s.ada, s.bob])
      expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: agent.id })).toHaveLength(1);
  });

  it('that mentions the assignee wakes it once, for the mention', async () => {
    const s = await stage();
    const issue = await s.make({ assignee_agent_id: s.bob.id });
    await say(s.human, issue, '@Bob @bob');
    expect(await woken(issue)).toEqual({ [s.bob.id]: 'mention' });
  });

  it('by an agent never wakes the author, neither as assignee nor by its own mention', async () => {
    const s = await stage();
    const issue = await s.make({ assignee_agent_id: s.bob.id });
    const run_id = newId();
    const comment = await say(actors.agent(s.bob, { run_id }), issue, '@Bob is done');
    expect(comment).toMatchObject({ author_agent_id: s.bob.id, author_user_name: null });
    expect(await woken(issue)).toEqual({});
    const [stored] = await database.db
      .select()
      .from(schema.comments)
      .where(eq(schema.comments.id, comment.id));
    expect(stored?.run_id).toBe(run_id);
  });

  it('mentions no agent of another company, in the trash, or within code', async () => {
    const [s, other] = [await stage(), await stage()];
    await createAgent(database.db, other.company, { name: 'Eve' });
    await createAgent(database.db, s.company, { name: 'Eve', deleted_at: new Date() });
    const issue = await s.make();
    await say(s.human, issue, '@Eve `@Bob`');
    expect(await woken(issue)).toEqual({});
  });

  it('without mention and assignee takes four statements, with both seven', async () => {
    const s = await stage();
    const [lone, issue] = [await s.make(), await s.make({ assignee_agent_id: s.ada.id })];
    const before = database.statements();
    await say(s.human, lone, 'hello');
    const between = database.statements();
    await say(s.human, issue, 'hello @Bob');
    expect([between - before, database.statements() - between]).toEqual([4, 7]);
  });

  it('leaves an entry in activity, and an event whose text is cut at 2 KB', async () => {
    const s = await stage();
    const issue = await s.make();
    const text = 'ä'.repeat(5000);
    const comment = await say(s.human, issue, text);
    expect(comment.body_markdown).toBe(text);
    const events = await database.db
      .select()
      .from(schema.outbox)
      .where(eq(schema.outbox.company_id, s.company.id));
    expect(events).toMatchObject([
      { type: 'comment_created', data: { id: comment.id, body_markdown: 'ä'.repeat(1024) } },
    ]);
    const entries = await database.db
      .select()
      .from(schema.activity)
      .where(eq(schema.activity.entity_id, comment.id));
    expect(entries).toMatchObject([{ action: 'comment.created', details: { issue_id: issue.id } }]);
  });
});

describe('a comment on a blocked issue', () => {
  const blocked = { status: 'blocked', blocked_at: new Date(), blocked_reason: 'why' };

  it('by a human with resume_after moves it to in_progress', async () => {
    const s = await stage();
    for (const actor of [s.human, actors.board(s.company)]) {
      const issue = await s.make(blocked);
      await say(actor, issue, 'go on', { resume_after: true });
      expect(await row(issue)).toMatchObject({
        status: 'in_progress',
        blocked_at: null,
        blocked_reason: null,
      });
    }
  });

  it('by an agent with resume_after, or by a human without, leaves it blocked', async () => {
    const s = await stage();
    const issue = await s.make(blocked);
    await say(actors.agent(s.ada), issue, 'go on', { resume_after: true });
    await say(s.human, issue, 'hm');
    expect(await row(issue)).toMatchObject({ status: 'blocked', blocked_reason: 'why' });
  });

  it('with resume_after on an issue that is not blocked changes no status', async () => {
    const s = await stage();
    const issue = await s.make({ status: 'done' });
    await say(s.human, issue, 'thanks', { resume_after: true });
    expect(await row(issue)).toMatchObject({ status: 'done' });
  });

  it('by a human answers the question that it waited for', async () => {
    const s = await stage();
    const issue = await s.make({ ...blocked, awaiting_input: true, assignee_agent_id: s.ada.id });
    await say(actors.agent(s.bob), issue, 'not me');
    expect(await row(issue)).toMatchObject({ awaiting_input: true });
    await say(s.human, issue, 'the blue one');
    expect(await row(issue)).toMatchObject({ awaiting_input: false, status: 'blocked' });
    expect(await woken(issue)).toEqual({ [s.ada.id]: 'input' });
  });

  it('by a human starts the loop breaker anew, so that the assignee is woken again', async () => {
    const s = await stage();
    const stuck = { stalled_runs: 5, needs_human_attention: true, assignee_agent_id: s.ada.id };
    const issue = await s.make(stuck);
    await say(actors.agent(s.bob), issue, 'still stuck');
    expect(await woken(issue)).toEqual({});
    await say(s.human, issue, 'try the other door');
    expect(await row(issue)).toMatchObject({ stalled_runs: 0, needs_human_attention: false });
    expect(await woken(issue)).toEqual({ [s.ada.id]: 'comment' });
  });
});

describe('listComments', () => {
  it('gives all, oldest first, with the names of users and keys; pages where a limit is given', async () => {
    const s = await stage();
    const issue = await s.make();
    const actorsInTurn = [s.human, actors.agent(s.ada), actors.board(s.company), actors.system];
    for (const [index, actor] of actorsInTurn.entries()) {
      await say(actor, issue, `${index}`);
      await nextInstant();
    }
    const all = await listComments(database.db, issue, {});
    expect(all.next_cursor).toBeNull();
    expect(all.items.map((comment) => [comment.body_markdown, comment.author_user_name])).toEqual([
      ['0', 'Grace'],
      ['1', null],
      ['2', 'integration'],
      ['3', 'test'],
    ]);
    const first = await listComments(database.db, issue, { limit: 3 });
    expect(first.items).toEqual(all.items.slice(0, 3));
    const rest = await listComments(database.db, issue, { limit: 3, cursor: first.next_cursor! });
    expect(rest).toEqual({ items: all.items.slice(3), next_cursor: null });
    for (const cursor of ['x', encodeCursor([1, 2])])
      await expect(listComments(database.db, issue, { cursor })).rejects.toMatchObject({ kind: 'invalid' });
  });
});

describe('pinComment', () => {
  it('toggles without a value, sets with one, and knows only comments of the issue', async () => {
    const s = await stage();
    const [issue, other] = [await s.make(), await s.make()];
    const { id } = await say(s.human, issue, 'remember');
    const pin = async (on: IssueRow, commentId: string, input?: { pinned?: boolean }) =>
      transaction(database, (tx) => pinComment(tx, s.human, on, commentId, input));
    expect(await pin(issue, id)).toEqual({ id, is_pinned: true });
    expect(await pin(issue, id, {})).toEqual({ id, is_pinned: false });
    expect(await pin(issue, id, { pinned: false })).toEqual({ id, is_pinned: false });
    for (const [on, comment] of [[other, id] as const, [issue, newId()] as const, [issue, 'x'] as const])
      await expect(pin(on, comment)).rejects.toMatchObject({ kind: 'not_found' });
  });
});

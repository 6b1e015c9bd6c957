import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { encodeCursor, newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  nextInstant,
} from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import type { IssueRow } from '../issues/index.ts';
import { findDocument, listDocuments, listRevisions, putDocument, restoreRevision } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const issue = await createIssue(database.db, company);
  const user = await createUser(database.db);
  const human = actors.user(user, { [company.id]: 'member' });
  const put = async (key: string, body: string, actor: Parameters<typeof putDocument>[1] = human) =>
    transaction(database, (tx) => putDocument(tx, actor, issue, key, { title: `Title of ${body}`, body }));
  const restore = async (key: string, revisionId: string, on: IssueRow = issue) =>
    transaction(database, (tx) => restoreRevision(tx, human, on, key, revisionId));
  return { company, issue, user, human, put, restore };
}

describe('putDocument', () => {
  it('makes a document at first and then revisions of it, each by its author', async () => {
    const s = await stage();
    const agent = await createAgent(database.db, s.company);
    const first = await s.put('plan', 'one');
    const second = await s.put('plan', 'two', actors.agent(agent));
    expect(second).toMatchObject({ id: first.id, document_id: first.document_id, latest_body: 'two' });
    expect([first.latest_revision_number, second.latest_revision_number]).toEqual([1, 2]);
    expect(await findDocument(database.db, s.issue, 'plan')).toEqual(second);
    const { items } = await listRevisions(database.db, s.issue, 'plan', {});
    expect(items).toMatchObject([
      { id: second.latest_revision_id, revision_number: 2, body: 'two', created_by_agent_id: agent.id },
      { id: first.latest_revision_id, revision_number: 1, body: 'one', created_by_user_id: s.user.id },
    ]);
  });

  it('at once by many: every text is in the history, numbers have no gap, the latest is the highest', async () => {
    const s = await stage();
    const texts = Array.from({ length: 12 }, (_each, index) => `text ${index}`);
    await Promise.all(texts.map(async (text) => s.put('busy', text)));
    const { items } = await listRevisions(database.db, s.issue, 'busy', {});
    expect(items.map((each) => each.revision_number)).toEqual(texts.map((_each, index) => 12 - index));
    expect(items.map((each) => each.body).toSorted()).toEqual(texts.toSorted());
    const document = await findDocument(database.db, s.issue, 'busy');
    expect(document).toMatchObject({
      latest_revision_number: 12,
      latest_revision_id: items[0]!.id,
      latest_body: items[0]!.body,
      title: items[0]!.title,
    });
  });

  it('the same key on another issue is another document', async () => {
    const [a, b] = [await stage(), await stage()];
    await a.put('plan', 'of a');
    await expect(findDocument(database.db, b.issue, 'plan')).rejects.toMatchObject({ kind: 'not_found' });
  });

  it.each(['', ' ', ' plan', 'a\nb', 'x'.repeat(201)])('the key %j is none', async (key) => {
    const s = await stage();
    await expect(s.put(key, 'x')).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('leaves an entry in activity and an event of the issue', async () => {
    const s = await stage();
    const { id } = await s.put('plan', 'one');
    const entries = await database.db
      .select()
      .from(schema.activity)
      .where(and(eq(schema.activity.entity_id, id), eq(schema.activity.entity_type, 'document')));
    expect(entries).toMatchObject([
      { action: 'document.created', details: { issue_id: s.issue.id, key: 'plan', revision_number: 1 } },
    ]);
    const events = await database.db
      .select()
      .from(schema.outbox)
      .where(eq(schema.outbox.company_id, s.company.id));
    expect(events).toMatchObject([{ type: 'issue_updated', data: { id: s.issue.id } }]);
  });
});

describe('restoreRevision', () => {
  it('appends the old text as a new revision and changes nothing of the history', async () => {
    const s = await stage();
    const first = await s.put('plan', 'one');
    await s.put('plan', 'two');
    const before = await listRevisions(database.db, s.issue, 'plan', {});
    const restored = await s.restore('plan', first.latest_revision_id!);
    expect(restored).toMatchObject({ latest_revision_number: 3, latest_body: 'one', title: 'Title of one' });
    const after = await listRevisions(database.db, s.issue, 'plan', {});
    expect(after.items.slice(1)).toEqual(before.items);
    expect(after.items[0]).toMatchObject({
      revision_number: 3,
      body: 'one',
      restored_from_revision_id: first.latest_revision_id,
    });
  });

  it('against edits at the same time: all of them are in the history, and the highest number is the latest', async () => {
    const s = await stage();
    const first = await s.put('plan', 'one');
    await Promise.all(
      Array.from({ length: 10 }, async (_each, index) =>
        index % 2 ? s.put('plan', `edit ${index}`) : s.restore('plan', first.latest_revision_id!),
      ),
    );
    const { items } = await listRevisions(database.db, s.issue, 'plan', {});
    expect(items.map((each) => each.revision_number)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(items.filter((each) => each.restored_from_revision_id !== null)).toHaveLength(5);
    expect(items.filter((each) => each.body.startsWith('edit'))).toHaveLength(5);
    const document = await findDocument(database.db, s.issue, 'plan');
    expect(document).toMatchObject({ latest_revision_id: items[0]!.id, latest_body: items[0]!.body });
  });

  it('of another document, another issue, or no revision: not found', async () => {
    const [s, other] = [await stage(), await stage()];
    const { latest_revision_id: id } = await s.put('plan', 'one');
    await s.put('spec', 'one');
    await other.put('plan', 'one');
    const attempts: [string, string, IssueRow?][] = [
      ['spec', id!],
      ['none', id!],
      ['plan', id!, other.issue],
      ['plan', newId()],
      ['plan', 'nonsense'],
    ];
    for (const attempt of attempts)
      await expect(s.restore(...attempt)).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('lists', () => {
  it('documents newest first, revisions by number; paged where a limit is given', async () => {
    const s = await stage();
    for (const key of ['a', 'b', 'c']) {
      await s.put(key, key);
      await nextInstant();
    }
    const first = await listDocuments(database.db, s.issue, { limit: 2 });
    expect(first.items.map((each) => each.key)).toEqual(['c', 'b']);
    const rest = await listDocuments(database.db, s.issue, { limit: 2, cursor: first.next_cursor! });
    expect(rest).toMatchObject({ items: [{ key: 'a', latest_body: 'a' }], next_cursor: null });
    for (const text of ['1', '2']) await s.put('a', text);
    const page = await listRevisions(database.db, s.issue, 'a', { limit: 2 });
    expect(page.items.map((each) => each.revision_number)).toEqual([3, 2]);
    const last = await listRevisions(database.db, s.issue, 'a', { limit: 2, cursor: page.next_cursor! });
    expect(last).toMatchObject({ items: [{ revision_number: 1 }], next_cursor: null });
  });

  it('a cursor that is none is invalid', async () => {
    const s = await stage();
    await s.put('a', 'x');
    for (const cursor of ['x', encodeCursor(['y']), encodeCursor([2 ** 50])])
      await expect(listRevisions(database.db, s.issue, 'a', { cursor })).rejects.toMatchObject({
        kind: 'invalid',
      });
  });
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import type { RelationType } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createCompany, createIssue, createUser, databaseWithQueue } from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import {
  addLabel,
  createLabel,
  createRelation,
  deleteLabel,
  deleteRelation,
  findRelation,
  type IssueRow,
  labelsByName,
  listLabels,
  listRelations,
  removeLabel,
} from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const user = await createUser(database.db);
  const actor = actors.user(user, { [company.id]: 'member' });
  const make = async () => createIssue(database.db, company);
  const relate = async (source: IssueRow, target: { id: string }, relation_type?: RelationType) =>
    transaction(database, async (tx) => {
      const input = { target_issue_id: target.id, ...(relation_type && { relation_type }) };
      return (await createRelation(tx, actor, source, input)).relation;
    });
  return { company, user, actor, make, relate };
}

const within = async <T>(fn: Parameters<typeof transaction<T>>[1]) => transaction(database, fn);

describe('createRelation', () => {
  it('relates two issues, listed at both ends; deleting it leaves no trace but the activity', async () => {
    const s = await stage();
    const [a, b] = [await s.make(), await s.make()];
    const relation = await s.relate(a, b);
    expect(relation).toMatchObject({
      source_issue_id: a.id,
      target_issue_id: b.id,
      relation_type: 'relates_to',
      created_by_user_id: s.user.id,
      created_at: expect.any(Date),
    });
    for (const issue of [a, b])
      expect((await listRelations(database.db, issue, {})).items).toEqual([relation]);
    const row = await findRelation(database.db, relation.id);
    await transaction(database, (tx) => deleteRelation(tx, s.actor, row!));
    expect((await listRelations(database.db, a, {})).items).toEqual([]);
    await expect(transaction(database, (tx) => deleteRelation(tx, s.actor, row!))).rejects.toMatchObject({
      kind: 'not_found',
    });
    const entries = await database.db
      .select()
      .from(schema.activity)
      .where(eq(schema.activity.entity_id, a.id));
    expect(entries.map((entry) => entry.action).toSorted()).toEqual([
      'issue.relation_added',
      'issue.relation_removed',
    ]);
  });

  it('to itself, to an unknown, trashed or foreign issue is invalid', async () => {
    const [s, other] = [await stage(), await stage()];
    const a = await s.make();
    const trashed = await createIssue(database.db, s.company, { deleted_at: new Date() });
    await expect(s.relate(a, { id: a.id.toUpperCase() }, 'blocks')).rejects.toMatchObject({
      kind: 'invalid',
      message: 'an issue cannot be related to itself',
    });
    for (const target of [{ id: newId() }, trashed, await other.make()])
      await expect(s.relate(a, target)).rejects.toMatchObject({
        kind: 'invalid',
        message: 'target_issue_id: unknown issue',
      });
  });

  it('that exists is returned, relates_to from the other end too; another type is another one', async () => {
    const s = await stage();
    const [a, b] = [await s.make(), await s.make()];
    const first = await s.relate(a, b);
    for (const [source, target] of [[a, b] as const, [b, a] as const])
      expect(await s.relate(source, target)).toEqual(first);
    const second = await s.relate(a, b, 'blocks');
    expect(second.id).not.toBe(first.id);
    expect(await s.relate(a, b, 'blocks')).toEqual(second);
    const entries = await database.db.$count(schema.activity, eq(schema.activity.entity_id, a.id));
    expect([entries, (await listRelations(database.db, a, {})).items.length]).toEqual([2, 2]);
  });

  it('that would close a circle of blocks and depends_on is invalid', async () => {
    const s = await stage();
    const [a, b, c] = [await s.make(), await s.make(), await s.make()];
    await s.relate(a, b, 'blocks');
    await s.relate(c, b, 'depends_on');
    const circle = { kind: 'invalid', message: 'the issues would block each other in a cycle' };
    await expect(s.relate(b, a, 'blocks')).rejects.toMatchObject(circle);
    await expect(s.relate(c, a, 'blocks')).rejects.toMatchObject(circle);
    await expect(s.relate(a, c, 'depends_on')).rejects.toMatchObject(circle);
    await s.relate(c, a, 'depends_on');
    await s.relate(c, a, 'relates_to');
  });

  it('of each type is possible from one issue to the same other, in any order; the reverse stays a circle', async () => {
    const s = await stage();
    for (const types of [
      ['blocks', 'depends_on', 'relates_to'],
      ['depends_on', 'relates_to', 'blocks'],
    ] as const) {
      const [a, b] = [await s.make(), await s.make()];
      for (const type of types) await s.relate(a, b, type);
      const kinds = (await listRelations(database.db, a, {})).items.map(({ relation_type }) => relation_type);
      expect(kinds.toSorted()).toEqual(types.toSorted());
      await expect(s.relate(b, a, 'blocks')).rejects.toMatchObject({ kind: 'invalid' });
    }
  });

  it('of the two halves of a circle, made at once, takes one', async () => {
    const s = await stage();
    for (let round = 0; round < 10; round += 1) {
      const [a, b] = [await s.make(), await s.make()];
      const outcomes = await Promise.allSettled([s.relate(a, b, 'blocks'), s.relate(b, a, 'blocks')]);
      expect(outcomes.map((outcome) => outcome.status).toSorted()).toEqual(['fulfilled', 'rejected']);
    }
  });

  it('whose other end lies in the trash is not shown', async () => {
    const s = await stage();
    const [a, b] = [await s.make(), await s.make()];
    const relation = await s.relate(a, b);
    await database.db.update(schema.issues).set({ deleted_at: new Date() }).where(eq(schema.issues.id, b.id));
    expect((await listRelations(database.db, a, {})).items).toEqual([]);
    expect(await findRelation(database.db, relation.id)).toBeUndefined();
  });
});

describe('labels', () => {
  it('are unique by name in any case within their company, and listed newest first, to people by name', async () => {
    const [s, other] = [await stage(), await stage()];
    await within((tx) => createLabel(tx, s.actor, s.company.id, { name: ' bug ', color: '#f00' }));
    await within((tx) => createLabel(tx, s.actor, s.company.id, { name: 'Art' }));
    await expect(
      within((tx) => createLabel(tx, s.actor, s.company.id, { name: 'BUG' })),
    ).rejects.toMatchObject({ kind: 'conflict' });
    await within((tx) => createLabel(tx, other.actor, other.company.id, { name: 'bug' }));
    const [art, bug] = [
      { name: 'Art', color: null },
      { name: 'bug', color: '#f00' },
    ];
    expect(await labelsByName(database.db, s.company.id)).toMatchObject([art, bug]);
    await database.db
      .update(schema.labels)
      .set({ created_at: new Date(0) })
      .where(and(eq(schema.labels.company_id, s.company.id), eq(schema.labels.name, 'Art')));
    const first = await listLabels(database.db, s.company.id, { limit: 1 });
    expect(first.items).toMatchObject([bug]);
    const rest = await listLabels(database.db, s.company.id, { cursor: first.next_cursor! });
    expect(rest).toMatchObject({ items: [art], next_cursor: null });
  });

  it('are put on an issue once, taken off once, and go from everywhere when deleted', async () => {
    const [s, other] = [await stage(), await stage()];
    const issue = await s.make();
    const label = await within((tx) => createLabel(tx, s.actor, s.company.id, { name: 'bug' }));
    const foreign = await within((tx) => createLabel(tx, other.actor, other.company.id, { name: 'bug' }));
    for (let times = 0; times < 2; times += 1)
      expect(await within((tx) => addLabel(tx, s.actor, issue, label.id))).toEqual([label]);
    const entries = await database.db
      .select()
      .from(schema.activity)
      .where(eq(schema.activity.entity_id, issue.id));
    expect(entries).toMatchObject([{ action: 'issue.label_added', details: { name: 'bug' } }]);
    const missing = { kind: 'not_found' };
    for (const id of [foreign.id, newId(), 'bug']) {
      await expect(within((tx) => addLabel(tx, s.actor, issue, id))).rejects.toMatchObject(missing);
      await expect(within((tx) => deleteLabel(tx, s.actor, s.company.id, id))).rejects.toMatchObject(missing);
    }
    await within((tx) => removeLabel(tx, s.actor, issue, label.id));
    await expect(within((tx) => removeLabel(tx, s.actor, issue, label.id))).rejects.toMatchObject(missing);
    await within((tx) => addLabel(tx, s.actor, issue, label.id));
    await within((tx) => deleteLabel(tx, s.actor, s.company.id, label.id));
    expect((await listLabels(database.db, s.company.id, {})).items).toEqual([]);
  });
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import type { IssueChange } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  actors,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  databaseWithQueue,
  pendingWakeups,
  queuedJobs,
} from '@acp/testkit';

import { listTrash } from '../trash/index.ts';
import { changeIssues, createLabel, createRelation, findIssue, labelsOfIssues } from './index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const make = async (title: string) =>
    createIssue(database.db, company, { title, priority: 'low', status: 'backlog' });
  const ids = [(await make('One')).id, (await make('Two')).id];
  const actor = actors.user(await createUser(database.db), { [company.id]: 'member' });
  const change = async (changes: readonly IssueChange[]) =>
    transaction(database, async (tx) => changeIssues(tx, actor, company.id, changes));
  const label = async (name: string) =>
    (await transaction(database, async (tx) => createLabel(tx, actor, company.id, { name }))).id;
  const read = async (id: string) => (await findIssue(database.db, id))!;
  return { company, agent, ids, change, label, read, make, actor };
}

describe('changeIssues', () => {
  it('changes properties and labels of several, wakes who gets work, and its answer undoes all of it', async () => {
    const s = await stage();
    const [bug, docs] = [await s.label('bug'), await s.label('docs')];
    await s.change([{ issue_id: s.ids[0]!, add_label_ids: [docs] }]);
    const set = { status: 'todo', priority: 'high', assignee_agent_id: s.agent.id } as const;
    const labels = { add_label_ids: [bug], remove_label_ids: [docs] };
    const done = await s.change(s.ids.map((issue_id) => ({ issue_id, set, ...labels })));
    expect(done.changed).toBe(2);
    for (const id of s.ids) expect(await s.read(id)).toMatchObject(set);
    expect((await pendingWakeups(database.db, s.agent.id)).length).toBe(2);
    const names = async (id: string) =>
      (await labelsOfIssues(database.db, [id])).get(id)?.map(({ name }) => name);
    expect(await names(s.ids[0]!)).toEqual(['bug']);

    await s.change(done.undo);
    for (const id of s.ids)
      expect(await s.read(id)).toMatchObject({
        status: 'backlog',
        priority: 'low',
        assignee_agent_id: null,
      });
    expect([await names(s.ids[0]!), await names(s.ids[1]!)]).toEqual([['docs'], undefined]);
  });

  it('moves to the trash and back', async () => {
    const s = await stage();
    const { undo } = await s.change(s.ids.map((issue_id) => ({ issue_id, deleted: true })));
    expect(await findIssue(database.db, s.ids[0]!)).toBeUndefined();
    const trashed = async () =>
      (await listTrash(database.db, { company_id: s.company.id, type: 'issue' })).items.length;
    expect(await trashed()).toBe(2);
    await s.change(undo);
    expect([(await s.read(s.ids[1]!)).title, await trashed()]).toEqual(['Two', 0]);
    await expect(s.change([{ issue_id: s.ids[0]!, deleted: false }])).rejects.toMatchObject({
      kind: 'invalid',
    });
  });

  it('counts what is not as it was, and says nothing to undo of the rest', async () => {
    const s = await stage();
    const set = { priority: 'low' } as const;
    expect(await s.change([{ issue_id: s.ids[0]!, set }])).toEqual({ changed: 0, undo: [] });
  });

  it('changes nothing where one issue or label is another company’s, absent, or named twice', async () => {
    const [s, other] = [await stage(), await stage()];
    const set = { priority: 'critical' } as const;
    const [mine, theirs] = [await s.label('mine'), await other.label('theirs')];
    for (const changes of [
      [s.ids[0]!, other.ids[0]!].map((issue_id) => ({ issue_id, set })),
      [s.ids[0]!, other.ids[0]!].map((issue_id) => ({ issue_id, add_label_ids: [mine] })),
      [s.ids[0]!, newId()].map((issue_id) => ({ issue_id, add_label_ids: [mine] })),
      [s.ids[0]!, s.ids[0]!].map((issue_id) => ({ issue_id, set })),
      [{ issue_id: s.ids[0]!, set, add_label_ids: [theirs] }],
      [{ issue_id: s.ids[0]!, set: { ...set, assignee_agent_id: other.agent.id } }],
      [{ issue_id: other.ids[0]!, deleted: false }],
    ])
      await expect(s.change(changes)).rejects.toMatchObject({ kind: 'invalid' });
    expect((await s.read(s.ids[0]!)).priority).toBe('low');
  });

  it('ends several, and each is settled whose end others wait for', async () => {
    const s = await stage();
    const roots = [await createAgent(database.db, s.company), await createAgent(database.db, s.company)];
    for (const [place, root] of roots.entries()) {
      const agent = await createAgent(database.db, s.company);
      const [root_agent_id, issue_id] = [root.id, s.ids[place]!];
      await database.db.insert(schema.subagents).values({
        company_id: s.company.id,
        agent_id: agent.id,
        root_agent_id,
        parent_agent_id: root_agent_id,
        parent_issue_id: newId(),
        issue_id,
      });
    }
    const [council] = await database.db
      .insert(schema.council_sessions)
      .values({
        company_id: s.company.id,
        issue_id: s.ids[1]!,
        question: 'Q',
        status: 'running',
        rounds: 1,
        depth: 0,
      })
      .returning();
    const jobs = async () => [
      ...(await queuedJobs(database.db, 'settle-subagents')).map(({ agent_id }) => agent_id),
      ...(await queuedJobs(database.db, 'advance-council')).map(({ session_id }) => session_id),
    ];
    const ids = roots.map(({ id }) => id);
    const named = async () => (await jobs()).filter((id) => [...ids, council!.id].includes(String(id)));
    await s.change(s.ids.map((issue_id) => ({ issue_id, set: { priority: 'high' } })));
    expect(await named()).toEqual([]);
    await s.change(s.ids.map((issue_id) => ({ issue_id, set: { status: 'done' } })));
    expect(new Set(await named())).toEqual(new Set([...ids, council!.id]));
  });

  it('ends two lots at once whose issues wait for each other', async () => {
    const s = await stage();
    const waiting = await s.make('Waits for both');
    await transaction(database, async (tx) => {
      for (const id of s.ids)
        await createRelation(tx, s.actor, await s.read(id), {
          target_issue_id: waiting.id,
          relation_type: 'blocks',
        });
    });
    const set = { status: 'done' } as const;
    const all = [...s.ids, waiting.id];
    const lot = async (ids: readonly string[]) => s.change(ids.map((issue_id) => ({ issue_id, set })));
    await Promise.all([lot(all), lot(all.toReversed()), lot(s.ids)]);
    expect((await s.read(waiting.id)).status).toBe('done');
  });
});

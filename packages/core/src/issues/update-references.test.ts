import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Actor, UpdateIssue } from '@acp/contract';
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
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { changeIssues, findIssue, type IssueRow, updateIssue } from './index.ts';

const { activity, agents, goals, issues, projects } = schema;
let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function stage() {
  const company = await createCompany(database.db);
  const [ada, bob, gone] = [
    await createAgent(database.db, company),
    await createAgent(database.db, company),
    await createAgent(database.db, company),
  ];
  const project = await newProject(company);
  const [goal] = await database.db
    .insert(goals)
    .values({ company_id: company.id, title: 'Grow' })
    .returning();
  const human = actors.user(await createUser(database.db), { [company.id]: 'member' });
  const trash = async (agent: { id: string }) =>
    database.db
      .update(agents)
      .set({ deleted_at: sql`now()` })
      .where(eq(agents.id, agent.id));
  return { company, ada, bob, gone, project, goal: goal!, human, trash };
}

async function newProject({ id }: { id: string }) {
  const [made] = await database.db.insert(projects).values({ company_id: id, name: 'Shed' }).returning();
  return made!;
}

type Stage = Awaited<ReturnType<typeof stage>>;
interface Case {
  made?: (s: Stage) => Partial<IssueRow>;
  patch: (s: Stage) => UpdateIssue;
  actor?: (s: Stage) => Actor;
  /** An agent that is trashed after the issue was made. */
  loses?: (s: Stage) => { id: string };
}

const heldBy = (agent: { id: string }) => ({
  checked_out_by_agent_id: agent.id,
  checked_out_at: new Date('2026-03-14T09:26:53.589Z'),
});

const cases: Record<string, Case> = {
  'a project and a goal': { patch: (s) => ({ project_id: s.project.id, goal_id: s.goal.id }) },
  'no project any more': {
    made: (s) => ({ project_id: s.project.id }),
    patch: () => ({ project_id: null, priority: 'high' }),
  },
  'an id in capitals': { patch: (s) => ({ project_id: s.project.id.toUpperCase() }) },
  'an assignee, in place of one who holds it': {
    made: (s) => ({ assignee_agent_id: s.ada.id, needs_routing: true, ...heldBy(s.ada) }),
    patch: (s) => ({ assignee_agent_id: s.bob.id }),
  },
  'the assignee who holds it, and blocked': {
    made: (s) => ({ assignee_agent_id: s.ada.id, ...heldBy(s.bob) }),
    patch: (s) => ({ assignee_agent_id: s.bob.id, status: 'blocked' }),
  },
  'no assignee': {
    made: (s) => ({ assignee_agent_id: s.ada.id, ...heldBy(s.ada) }),
    patch: () => ({ assignee_agent_id: null }),
  },
  'an assignee, in place of one in the trash': {
    made: (s) => ({ assignee_agent_id: s.gone.id }),
    loses: (s) => s.gone,
    patch: (s) => ({ assignee_agent_id: s.bob.id }),
  },
  'the assignee in the trash that it has': {
    made: (s) => ({ assignee_agent_id: s.gone.id }),
    loses: (s) => s.gone,
    patch: (s) => ({ assignee_agent_id: s.gone.id, title: 'Paint it' }),
  },
  'no assignee, held by one in the trash': {
    made: (s) => ({ assignee_agent_id: s.ada.id, ...heldBy(s.gone) }),
    loses: (s) => s.gone,
    patch: () => ({ assignee_agent_id: null }),
  },
  'an assignee in the trash': {
    loses: (s) => s.gone,
    patch: (s) => ({ assignee_agent_id: s.gone.id, priority: 'high' }),
  },
  'an unknown project': { patch: () => ({ project_id: newId(), priority: 'high' }) },
  'an assignee of an agent that may not assign': {
    actor: (s) => actors.agent({ ...s.ada, permissions: { 'issues.assign': false } }),
    patch: (s) => ({ assignee_agent_id: s.bob.id }),
  },
};

describe('updateIssue of what an issue refers to', () => {
  it.each(Object.keys(cases))(
    '%s: is the same whether or not the caller has read the issue',
    async (name) => {
      const { made, patch, actor, loses } = cases[name]!;
      const outcome = async (hasRead: boolean) => {
        const s = await stage();
        const issue = await createIssue(database.db, s.company, { status: 'todo', ...made?.(s) });
        if (loses) await s.trash(loses(s));
        const read = (await findIssue(database.db, issue.id))!;
        const { row_version: _, ...unread } = read;
        const result = await transaction(database, async (tx) =>
          updateIssue(tx, actor?.(s) ?? s.human, hasRead ? read : unread, patch(s)),
        ).catch((error: Error) => error.message);
        const [row] = await database.db.select().from(issues).where(eq(issues.id, issue.id));
        const entries = await database.db
          .select({ details: activity.details })
          .from(activity)
          .where(eq(activity.entity_id, issue.id));
        const woken = (await pendingWakeups(database.db, s.bob.id)).map(({ reason }) => reason);
        // What differs between two companies has the same name in both.
        const known = Object.entries({ ...s, issue } as Record<string, { id?: string }>);
        let text = JSON.stringify({ result, row, entries, woken });
        for (const [called, { id }] of known)
          if (id)
            text = text.replaceAll(new RegExp(id, 'gi'), (all) =>
              all === id ? called : `${called} in capitals`,
            );
        return JSON.parse(
          text
            .replaceAll(row!.identifier, 'identifier')
            .replaceAll(/"(?:created_at|updated_at|blocked_at)":"[^"]+"/g, '"at":""')
            .replaceAll(/unknown project [0-9a-f-]+/g, 'unknown project'),
        ) as unknown;
      };
      expect(await outcome(true)).toEqual(await outcome(false));
    },
  );

  it('another company’s is invalid and changes nothing', async () => {
    const [s, other] = [await stage(), await stage()];
    const issue = await createIssue(database.db, s.company, {});
    const read = (await findIssue(database.db, issue.id))!;
    for (const patch of [
      { project_id: other.project.id },
      { goal_id: other.goal.id },
      { assignee_agent_id: other.ada.id },
    ])
      await expect(
        transaction(database, async (tx) => updateIssue(tx, s.human, read, { ...patch, title: 'New' })),
      ).rejects.toMatchObject({ kind: 'invalid' });
    expect(await findIssue(database.db, issue.id)).toEqual(read);
  });

  it('of many issues at once takes one statement for each, and one for whom that wakes', async () => {
    const s = await stage();
    const made = await Promise.all(
      Array.from({ length: 20 }, async () => createIssue(database.db, s.company, { status: 'todo' })),
    );
    const taken = async (set: UpdateIssue) => {
      const before = database.statements();
      await transaction(database, async (tx) =>
        changeIssues(
          tx,
          s.human,
          s.company.id,
          made.map(({ id }) => ({ issue_id: id, set })),
        ),
      );
      return database.statements() - before - made.length;
    };
    // Besides: begin, the locks, reading them, what is recorded, and commit.
    expect(await taken({ project_id: s.project.id })).toBe(5);
    // The wakeups and the jobs.
    expect(await taken({ assignee_agent_id: s.ada.id })).toBe(7);
    for (const { id } of made)
      expect(await findIssue(database.db, id)).toMatchObject({
        project_id: s.project.id,
        assignee_agent_id: s.ada.id,
      });
    const woken = await pendingWakeups(database.db, s.ada.id);
    expect(new Set(woken.map(({ issue_id }) => issue_id))).toEqual(new Set(made.map(({ id }) => id)));
    expect(woken).toHaveLength(made.length);
  });
});

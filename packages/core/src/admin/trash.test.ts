import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TrashType } from '@acp/contract';
import { type Database, holdDayTotals, mergeDayTotals, schema, transaction, type Tx } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  createKeyOf,
  pendingWakeups,
  queuedJobs,
  waitFor,
  waitingForLocks,
} from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { deleteAgent, findAgent } from '../agents/index.ts';
import { deleteCompany, findCompany, mintBoardUserKey } from '../companies/index.ts';
import { createGoal, deleteGoal, findGoal } from '../goals/index.ts';
import { deleteIssue, findIssue } from '../issues/index.ts';
import { createNote, deleteNote, findNote } from '../notes/index.ts';
import { createProject, deleteProject, findProject } from '../projects/index.ts';
import { createRoutine, deleteRoutine, findRoutine, fireRoutine } from '../routines/index.ts';
import { settleAgent, settleCompany, settleIssue } from '../heartbeats/index.ts';
import { createSkill, deleteSkill, findSkill } from '../skills/index.ts';
import { findExpiredEntry, listTrash } from '../trash/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { purgeFromTrash, purgeExpired, restoreFromTrash } from './index.ts';

// A separate database: retention purges the trash of the whole instance.
let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('trash'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());

const { agent_api_keys, agents, board_user_keys, companies, issues, trash_entries } = schema;
const admin = actors.instanceAdmin({ id: '00000000-0000-4000-8000-00000000000a', display_name: 'Admin' });
const within = async <T>(work: (tx: Tx) => Promise<T>) => transaction(database, work);

async function entryOf(entity_id: string) {
  const [entry] = (await listTrash(database.db, {})).items.filter((each) => each.entity_id === entity_id);
  return entry!;
}
const restore = async (id: string) => {
  const entry = await entryOf(id);
  return within(async (tx) => restoreFromTrash(tx, admin, entry));
};
const purge = async (id: string) => {
  const entry = await entryOf(id);
  return within(async (tx) => purgeFromTrash(tx, admin, entry));
};

/** By type: creates an entity, deletes it, and finds it unless it is in the trash. */
const things: Record<
  TrashType,
  {
    make: (tx: Tx, company: { id: string }) => Promise<{ id: string }>;
    discard: (tx: Tx, id: string) => Promise<unknown>;
    find: (tx: Tx, id: string) => Promise<unknown>;
  }
> = {
  company: {
    make: async (tx) => createCompany(tx),
    discard: async (tx, id) => deleteCompany(tx, admin, id),
    find: findCompany,
  },
  agent: {
    make: createAgent,
    discard: async (tx, id) => deleteAgent(tx, admin, (await findAgent(tx, id))!),
    find: findAgent,
  },
  issue: {
    make: createIssue,
    discard: async (tx, id) => deleteIssue(tx, admin, (await findIssue(tx, id))!),
    find: findIssue,
  },
  project: {
    make: async (tx, { id }) => createProject(tx, admin, id, { name: 'P' }),
    discard: async (tx, id) => deleteProject(tx, admin, (await findProject(tx, id))!),
    find: findProject,
  },
  goal: {
    make: async (tx, { id }) => createGoal(tx, admin, id, { title: 'G' }),
    discard: async (tx, id) => deleteGoal(tx, admin, (await findGoal(tx, id))!),
    find: findGoal,
  },
  note: {
    make: async (tx, { id }) => createNote(tx, admin, id, { title: 'N' }),
    discard: async (tx, id) => deleteNote(tx, admin, (await findNote(tx, id))!),
    find: findNote,
  },
  skill: {
    make: async (tx, { id }) => createSkill(tx, admin, id, { slug: 's', name: 'S', description: 'D' }),
    discard: async (tx, id) => deleteSkill(tx, admin, (await findSkill(tx, id))!),
    find: findSkill,
  },
  routine: {
    make: async (tx, { id }) => createRoutine(tx, admin, id, { name: 'R', title_template: 'T' }),
    discard: async (tx, id) => deleteRoutine(tx, admin, (await findRoutine(tx, id))!),
    find: findRoutine,
  },
};

describe.each(Object.entries(things))('a deleted %s', (type, { make, discard, find }) => {
  async function discarded() {
    const company = await createCompany(database.db);
    const { id } = await within(async (tx) => make(tx, company));
    await within(async (tx) => discard(tx, id));
    return { company, id };
  }

  it('counts as absent, lies in the trash with who threw it away, and comes back once', async () => {
    const { id } = await discarded();
    expect(await find(database.db, id)).toBeUndefined();
    const entry = await entryOf(id);
    expect(entry).toMatchObject({ type, name: expect.any(String), deleted_by_user_id: admin.user_id });
    expect(await restore(id)).toEqual({ status: 'restored' });
    expect(await find(database.db, id)).toMatchObject({ id });
    const again = within(async (tx) => restoreFromTrash(tx, admin, entry));
    await expect(again).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('is gone for good when purged, and its entry with it', async () => {
    const { id } = await discarded();
    const entry = await entryOf(id);
    await purge(id);
    expect(await entryOf(id)).toBeUndefined();
    const again = within(async (tx) => purgeFromTrash(tx, admin, entry));
    await expect(again).rejects.toMatchObject({ kind: 'not_found' });
    const restored = within(async (tx) => restoreFromTrash(tx, admin, entry));
    await expect(restored).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('is not restored into a company that is in the trash itself', async () => {
    if (type === 'company') return;
    const { company, id } = await discarded();
    await within(async (tx) => deleteCompany(tx, admin, company.id));
    await expect(restore(id)).rejects.toMatchObject({ kind: 'conflict' });
    await restore(company.id);
    expect(await restore(id)).toEqual({ status: 'restored' });
  });
});

describe('restoring', () => {
  it('is a conflict where the slug of a company or a skill is taken again', async () => {
    const company = await createCompany(database.db);
    await within(async (tx) => deleteCompany(tx, admin, company.id));
    const { id } = await createCompany(database.db, { slug: company.slug });
    await expect(restore(company.id)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await entryOf(company.id)).toBeDefined();

    const input = { slug: 'same', name: 'S', description: 'D' };
    const skill = await within(async (tx) => createSkill(tx, admin, id, input));
    await within(async (tx) => deleteSkill(tx, admin, (await findSkill(tx, skill.id))!));
    await within(async (tx) => createSkill(tx, admin, id, input));
    await expect(restore(skill.id)).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('brings no key back: neither an agent’s nor, whether its job has run or not, a company’s', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    await createKeyOf(database.db, agent);
    const keys = async () => database.db.$count(agent_api_keys, eq(agent_api_keys.agent_id, agent.id));
    const boardKeys = async () =>
      database.db.$count(board_user_keys, eq(board_user_keys.company_id, company.id));
    await within(async (tx) => deleteAgent(tx, admin, agent));
    await restore(agent.id);
    expect(await keys()).toBe(0);

    await createKeyOf(database.db, agent);
    await within(async (tx) => mintBoardUserKey(tx, actors.system, company.id, { role: 'admin' }));
    await within(async (tx) => deleteCompany(tx, admin, company.id));
    expect([await keys(), await boardKeys()]).toEqual([1, 0]);
    await restore(company.id);
    expect([await keys(), await boardKeys()]).toEqual([0, 0]);
    await createKeyOf(database.db, agent);
    await within(async (tx) => settleCompany(tx, company.id));
    expect(await keys()).toBe(1);
  });

  it('of an agent makes it idle and dispatches it; its former manager stays only where he is there', async () => {
    const company = await createCompany(database.db);
    const boss = await createAgent(database.db, company);
    const agent = await createAgent(database.db, company, { reports_to: boss.id, status: 'running' });
    await within(async (tx) => deleteAgent(tx, admin, agent));
    await within(async (tx) => deleteAgent(tx, admin, boss));
    await restore(agent.id);
    expect(await findAgent(database.db, agent.id)).toMatchObject({ status: 'idle', reports_to: null });
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: agent.id })).toHaveLength(1);
  });

  it('of an issue brings back what lies below it, and wakes its assignee; not below a parent in the trash', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const top = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    const child = await createIssue(database.db, company, { parent_issue_id: top.id });
    await within(async (tx) => deleteIssue(tx, admin, child));
    await within(async (tx) => deleteIssue(tx, admin, top));
    await expect(restore(child.id)).rejects.toMatchObject({ kind: 'conflict' });
    await restore(top.id);
    expect(await queuedJobs(database.db, 'dispatch-agent', { agent_id: agent.id })).toHaveLength(1);
    await restore(child.id);
    expect(await findIssue(database.db, child.id)).toBeDefined();
  });

  it('of an issue wakes whoever has work on what comes back along with it', async () => {
    const company = await createCompany(database.db);
    const [low, done, gone] = [
      await createAgent(database.db, company),
      await createAgent(database.db, company),
      await createAgent(database.db, company),
    ];
    const top = await createIssue(database.db, company);
    const below = async (parent: { id: string }, agent: { id: string }, status = 'todo') =>
      createIssue(database.db, company, {
        parent_issue_id: parent.id,
        assignee_agent_id: agent.id,
        status,
      });
    const middle = await below(top, done, 'done');
    const lowest = await below(middle, low, 'in_progress');
    const trashed = await below(top, gone);
    const under = await below(trashed, gone);
    await within(async (tx) => deleteIssue(tx, admin, trashed));
    await within(async (tx) => deleteIssue(tx, admin, top));
    await within(async (tx) => settleIssue(tx, top.id));
    await restore(top.id);
    const woken = async ({ id }: { id: string }) =>
      (await pendingWakeups(database.db, id)).map(({ issue_id }) => issue_id);
    expect([await woken(low), await woken(done), await woken(gone)]).toEqual([[lowest.id], [], []]);
    await restore(trashed.id);
    expect(new Set(await woken(gone))).toEqual(new Set([trashed.id, under.id]));
  });

  it.each(['agent', 'company'] as const)('of the %s wakes whoever had work when it went', async (type) => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const issue = async (values: object) =>
      createIssue(database.db, company, { assignee_agent_id: agent.id, ...values });
    const work = await issue({ status: 'in_progress' });
    await issue({ status: 'done' });
    await issue({ deleted_at: new Date() });
    const { id } = type === 'agent' ? agent : company;
    await within(async (tx) => things[type].discard(tx, id));
    await within(async (tx) => (type === 'agent' ? settleAgent(tx, id) : settleCompany(tx, id)));
    await restore(id);
    const woken = await pendingWakeups(database.db, agent.id);
    expect(woken.map(({ issue_id, reason }) => [issue_id, reason])).toEqual([[work.id, 'assignment']]);
  });

  it('of a goal brings back what lies below it', async () => {
    const company = await createCompany(database.db);
    const top = await within(async (tx) => createGoal(tx, admin, company.id, { title: 'top' }));
    const low = await within(async (tx) =>
      createGoal(tx, admin, company.id, { title: 'low', parent_goal_id: top.id }),
    );
    await within(async (tx) => deleteGoal(tx, admin, (await findGoal(tx, top.id))!));
    expect(await findGoal(database.db, low.id)).toBeUndefined();
    await restore(top.id);
    expect(await findGoal(database.db, low.id)).toMatchObject({ title: 'low' });
  });
});

describe('purging', () => {
  it('of an issue leaves no wakeup for anything below it, even before its deletion is settled', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const top = await createIssue(database.db, company);
    const child = await createIssue(database.db, company, { parent_issue_id: top.id });
    const wakeup = { company_id: company.id, agent_id: agent.id, issue_id: child.id } as const;
    await within(async (tx) => requestWakeups(tx, admin, [{ ...wakeup, reason: 'manual' }]));
    await within(async (tx) => deleteIssue(tx, admin, top));
    await purge(top.id);
    await within(async (tx) => settleIssue(tx, top.id));
    expect(await pendingWakeups(database.db, agent.id)).toEqual([]);
  });

  it('of an issue takes all below it along, trashed by itself or not', async () => {
    const company = await createCompany(database.db);
    const top = await createIssue(database.db, company);
    const child = await createIssue(database.db, company, { parent_issue_id: top.id });
    const low = await createIssue(database.db, company, { parent_issue_id: child.id });
    await within(async (tx) => deleteIssue(tx, admin, low));
    await within(async (tx) => deleteIssue(tx, admin, top));
    await purge(top.id);
    expect(await database.db.$count(issues, eq(issues.company_id, company.id))).toBe(0);
    expect(await entryOf(low.id)).toBeUndefined();
  });

  it('of an agent leaves its issues without assignee', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    await within(async (tx) => deleteAgent(tx, admin, agent));
    await purge(agent.id);
    expect(await findIssue(database.db, issue.id)).toMatchObject({ assignee_agent_id: null });
    expect(await database.db.$count(agents, eq(agents.id, agent.id))).toBe(0);
  });

  it('of an agent, a project, a goal or an issue leaves nothing that refers to it, and routines fire on', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const issue = await createIssue(database.db, company);
    const goal = await within(async (tx) =>
      createGoal(tx, admin, company.id, { title: 'G', owner_agent_id: agent.id }),
    );
    const goal_id = goal.id;
    const other = await within(async (tx) => createGoal(tx, admin, company.id, { title: 'O' }));
    const place = await within(async (tx) =>
      createProject(tx, admin, company.id, { name: 'P', goal_id, lead_agent_id: agent.id }),
    );
    const kept = await within(async (tx) => createProject(tx, admin, company.id, { name: 'Q', goal_id }));
    const note = await within(async (tx) =>
      createNote(tx, admin, company.id, { title: 'N', issue_id: issue.id }),
    );
    const named = { assignee_agent_id: agent.id, project_id: place.id, goal_id: other.id };
    const routine = await within(async (tx) =>
      createRoutine(tx, admin, company.id, { name: 'R', title_template: 'T', ...named }),
    );
    const fire = async () => within(async (tx) => fireRoutine(tx, admin, routine));
    const free = { assignee_agent_id: null, project_id: null, goal_id: null };
    await within(async (tx) => {
      await deleteAgent(tx, admin, agent);
      await deleteProject(tx, admin, (await findProject(tx, place.id))!);
      for (const { id } of [goal, other]) await deleteGoal(tx, admin, (await findGoal(tx, id))!);
      await deleteIssue(tx, admin, issue);
    });
    // References to the trash are as absent as after purging.
    const first = await fire();
    expect(await findIssue(database.db, first.run.issue_id!)).toMatchObject(free);
    await within(async (tx) => deleteIssue(tx, admin, (await findIssue(tx, first.run.issue_id!))!));
    for (const { id } of [agent, place, goal, other, issue]) await purge(id);
    expect(await findRoutine(database.db, routine.id)).toMatchObject(free);
    expect(await findProject(database.db, kept.id)).toMatchObject({ goal_id: null });
    expect(await findNote(database.db, note.id)).toMatchObject({ issue_id: null });
    expect((await fire()).status).toBe('enqueued');
  });

  it('of a company leaves no row of it in any table, and everything of the others', async () => {
    const [company, other] = [await createCompany(database.db), await createCompany(database.db)];
    for (const each of [company, other]) {
      const agent = await createAgent(database.db, each);
      await createIssue(database.db, each, { assignee_agent_id: agent.id });
      await createKeyOf(database.db, agent);
      await within(async (tx) => createNote(tx, admin, each.id, { title: 'N' }));
      await within(async (tx) => createProject(tx, admin, each.id, { name: 'P' }));
      await within(async (tx) => createSkill(tx, admin, each.id, { name: 'S', description: 'D' }));
      await database.pool.query(
        `insert into cost_days select $1, current_date, null, null, 'm', 1, 0, 1, 1, 1, true`,
        [each.id],
      );
    }
    const { rows: tables } = await database.db.execute<{ name: string }>(sql`
      select c.table_name as name from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = 'public' and c.column_name = 'company_id' and t.table_type = 'BASE TABLE'`);
    const rowsOf = async (id: string) => {
      const counts = tables.map(
        ({ name }) => sql`(select count(*) from ${sql.identifier(name)} where company_id = ${id})`,
      );
      const { rows } = await database.db.execute<{ sum: string }>(
        sql`select ${sql.join(counts, sql` + `)} as sum`,
      );
      return Number(rows[0]!.sum);
    };
    const before = await rowsOf(other.id);
    await within(async (tx) => deleteCompany(tx, admin, company.id));
    expect(await rowsOf(company.id)).toBeGreaterThan(5);
    await purge(company.id);
    expect(await rowsOf(company.id)).toBe(0);
    expect(await database.db.$count(companies, eq(companies.id, company.id))).toBe(0);
    expect(await rowsOf(other.id)).toBe(before);
  });

  it('leaves no totals of a company that were being merged', async () => {
    const company = await createCompany(database.db);
    await within(async (tx) => deleteCompany(tx, admin, company.id));
    const add = `insert into run_days (company_id, day, runs, succeeded, failed) values ($1, current_date, 1, 1, 0)`;
    await database.pool.query(add, [company.id]);
    const totals = () => database.db.$count(schema.run_days, eq(schema.run_days.company_id, company.id));
    const merging = await within(async (tx) => {
      await holdDayTotals(tx);
      await tx.execute(sql`
        with parts as (delete from run_days where company_id = ${company.id} returning *)
        insert into run_days select company_id, day, runs, succeeded, failed, true from parts`);
      const purging = purge(company.id);
      await waitFor(async () => (await waitingForLocks(database)) > 0);
      return { purging };
    });
    await merging.purging;
    expect(await totals()).toBe(0);
    // Of a run that ended while the purge was under way.
    await database.pool.query(add, [company.id]);
    await mergeDayTotals(database, new AbortController().signal);
    expect(await totals()).toBe(0);
  });

  it('takes its time, whoever wants it: a large company takes longer than any other statement may', async () => {
    const company = await createCompany(database.db);
    await within(async (tx) => deleteCompany(tx, admin, company.id));
    const entry = await entryOf(company.id);
    const limit = await within(async (tx) => {
      await purgeFromTrash(tx, admin, entry);
      return (await tx.execute<{ statement_timeout: string }>(sql`show statement_timeout`)).rows[0];
    });
    expect(limit).toEqual({ statement_timeout: '0' });
  });

  it('happens by itself to what has lain there long enough, the oldest first', async () => {
    await database.db.delete(trash_entries);
    const company = await createCompany(database.db);
    const make = async () => {
      const note = await within(async (tx) => createNote(tx, admin, company.id, { title: 'N' }));
      await within(async (tx) => deleteNote(tx, admin, (await findNote(tx, note.id))!));
      return note.id;
    };
    const [old, young] = [await make(), await make()];
    const step = async () => {
      const entry = await findExpiredEntry(database.db, 30, []);
      return entry !== undefined && within(async (tx) => purgeExpired(tx, entry.trash_id));
    };
    expect(await step()).toBe(false);
    await database.db
      .update(trash_entries)
      .set({ deleted_at: sql`now() - interval '31 days'` })
      .where(eq(trash_entries.entity_id, old));
    expect([await step(), await step()]).toEqual([true, false]);
    expect([await entryOf(old), (await entryOf(young)).entity_id]).toEqual([undefined, young]);
  });
});

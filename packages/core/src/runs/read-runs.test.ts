import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createAgent, createCompany, createIssue, databaseWithQueue } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { newId } from '@acp/kernel';
import { endedAmong, findRun, listRunEvents, listRuns, presentRun } from '../index.ts';

const { agents, heartbeat_runs, run_events } = schema;

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

async function setUp() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const issue = await createIssue(database.db, company);
  const add = async (values: Partial<typeof heartbeat_runs.$inferInsert> = {}) => {
    const [row] = await database.db
      .insert(heartbeat_runs)
      .values({
        company_id: company.id,
        agent_id: agent.id,
        wake_reason: 'manual',
        adapter_type: 'llm',
        status: 'succeeded',
        ...values,
      })
      .returning();
    return row!;
  };
  return { company, agent, issue, add };
}

describe('the list of runs', () => {
  it('is newest first, page by page, each run once', async () => {
    const { company, add } = await setUp();
    // All have the same timestamp: the id decides.
    const made = await Promise.all(
      Array.from({ length: 5 }, async () => add({ created_at: new Date('2026-01-01T00:00:00Z') })),
    );
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await listRuns(database.db, { kind: 'system', name: 'tests' }, company.id, {
        limit: 2,
        cursor,
      });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(
      made
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );
  });

  it('is filtered by agent, issue and a comma list of statuses', async () => {
    const { company, agent, issue, add } = await setUp();
    const other = await createAgent(database.db, company);
    const done = await add({ issue_id: issue.id });
    const failed = await add({ status: 'failed' });
    const foreign = await add({ agent_id: other.id, status: 'cancelled' });
    const ids = async (filter: Parameters<typeof listRuns>[3]) =>
      (await listRuns(database.db, { kind: 'system', name: 'tests' }, company.id, filter)).items
        .map(({ id }) => id)
        .toSorted();
    expect(await ids({ issueId: issue.id })).toEqual([done.id]);
    expect(await ids({ agentId: agent.id })).toEqual([done.id, failed.id].toSorted());
    expect(await ids({ status: 'failed, cancelled' })).toEqual([failed.id, foreign.id].toSorted());
  });

  it('refuses an unknown status and a cursor that is none', async () => {
    const { company } = await setUp();
    const list = async (filter: Parameters<typeof listRuns>[3]) =>
      listRuns(database.db, { kind: 'system', name: 'tests' }, company.id, filter);
    await expect(list({ status: 'done' })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(list({ status: '' })).rejects.toMatchObject({ kind: 'invalid' });
    await expect(list({ cursor: 'nonsense' })).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('costs one statement', async () => {
    const { company } = await setUp();
    const before = database.statements();
    await listRuns(database.db, { kind: 'system', name: 'tests' }, company.id, {});
    expect(database.statements() - before).toBe(1);
  });
});

describe('a run', () => {
  it('is found by its id, unless its agent lies in the trash', async () => {
    const { agent, add } = await setUp();
    const run = await add();
    expect(await findRun(database.db, run.id)).toEqual(run);
    expect(await findRun(database.db, 'nonsense')).toBeUndefined();
    await database.db
      .update(agents)
      .set({ deleted_at: sql`now()` })
      .where(eq(agents.id, agent.id));
    expect(await findRun(database.db, run.id)).toBeUndefined();
  });

  it('is shown without fence and lease, its money as a number', async () => {
    const { add } = await setUp();
    const shown = presentRun(await add({ cost_usd: '0.00000001', fence: 3 }), null);
    expect(shown.cost_usd).toBe(1e-8);
    expect(Object.keys(shown)).not.toEqual(expect.arrayContaining(['fence']));
    expect(Object.keys(shown)).not.toEqual(expect.arrayContaining(['lease_expires_at']));
  });
});

describe('a transcript', () => {
  const write = async ({ id, transcript_part }: typeof heartbeat_runs.$inferSelect, payloads: unknown[]) => {
    await database.db.insert(run_events).values(
      payloads.map((payload, place) => ({
        run_id: id,
        part: transcript_part,
        seq: place + 1,
        kind: 'output',
        payload,
        created_at: new Date('2026-03-14T09:26:53.580Z'),
      })),
    );
  };
  const read = async (id: string, after = 0) =>
    listRunEvents(database.db, { kind: 'system', name: 'tests' }, id, { after, limit: 1000 });

  it('is read as it was written, with instants as JSON has them', async () => {
    const { add } = await setUp();
    const run = await add();
    const payload = { text: '"ü" \\ 12', parts: [1.5, null, { deep: true }] };
    await write(run, [payload, {}]);
    const created_at = '2026-03-14T09:26:53.580Z';
    expect(await read(run.id)).toEqual([
      { seq: 1, kind: 'output', payload, created_at },
      { seq: 2, kind: 'output', payload: {}, created_at },
    ]);
  });

  it('of long entries is read in parts of 4 MB, each ended by the entry that reaches it', async () => {
    const { add } = await setUp();
    const run = await add();
    const text = 'x'.repeat(1024 * 1024);
    await write(
      run,
      Array.from({ length: 6 }, () => ({ text })),
    );
    const parts = [await read(run.id), await read(run.id, 4), await read(run.id, 6)];
    expect(parts.map((part) => part.map(({ seq }) => seq))).toEqual([[1, 2, 3, 4], [5, 6], []]);
  });
});

it('an awaited command has ended once it is finished, or was left running when its process died', async () => {
  const command = async (finished: boolean, deadline_sec: number) => {
    const { rows } = await database.db.execute<{ id: string }>(sql`
      insert into commands (name, actor, payload, status, deadline, finished_at)
      values ('test-adapter', '{}', '{}', ${finished ? 'succeeded' : 'running'}, now() + make_interval(secs => ${deadline_sec}),
        case when ${finished} then now() end) returning id`);
    return rows[0]!.id;
  };
  const [done, left, running] = [
    await command(true, 30),
    await command(false, -60),
    await command(false, 30),
  ];
  expect((await endedAmong(database.db, [done, left, running, newId()])).toSorted()).toEqual(
    [done, left].toSorted(),
  );
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { cloneDatabase, killServices, readPrompt, startFakeModel, startService, waitFor } from '@acp/testkit';
import type { FakeModel, FakeModelReply, FakeModelRequest, ServiceProcess, TestDatabase } from '@acp/testkit';
import { baseEnv, createTeam, killScheduler, modelEnv, shortLeases, signIn } from './api.ts';
import type { Api, Team } from './api.ts';

/** A lost run is found this soon after its lease has expired. */
const FOUND_WITHIN_MS = 10_000;

interface Run {
  id: string;
  agent_id: string;
  issue_id: string | null;
  status: string;
  error: string | null;
  retry_of_run_id: string | null;
  claimed_by: string;
  finished_at: Date | null;
}

let db: TestDatabase;
let model: FakeModel;
let api: Api;
let env: Record<string, string>;

beforeAll(async () => {
  db = await cloneDatabase('schedulers');
  model = await startFakeModel();
  env = { ...baseEnv, ...modelEnv(model.url), DATABASE_URL: db.url };
  api = await signIn(await startService({ ...env, SERVICE_ROLE: 'web' }));
});

const schedulers: ServiceProcess[] = [];

/** Started in parallel: a start would cost every test a second or two. */
async function startSchedulers(count: number, more: Record<string, string> = {}): Promise<ServiceProcess[]> {
  const start = async () =>
    startService({ ...env, SERVICE_ROLE: 'scheduler', WORKER_POOL_SIZE: '20', ...more });
  const started = await Promise.all(Array.from({ length: count }, start));
  schedulers.push(...started);
  return started;
}

afterEach(async () => {
  for (const scheduler of schedulers) scheduler.kill('SIGKILL');
  await Promise.all(schedulers.splice(0).map(async ({ ended }) => ended));
});

afterAll(async () => {
  await killServices();
  await model.close();
});

const query = async <T>(text: string, ...values: unknown[]): Promise<T[]> =>
  (await db.database.pool.query(text, values)).rows as T[];

const runsOf = async ({ company_id }: Team): Promise<Run[]> =>
  query('select * from heartbeat_runs where company_id = $1 order by created_at, id', company_id);

/** Creates one issue per agent, which wakes it. */
async function assignIssues({ company_id, agents }: Team): Promise<void> {
  const create = async ({ id, name }: Team['agents'][number]) =>
    api.call('POST', `/api/companies/${company_id}/issues`, {
      title: `Task of ${name}`,
      assignee_agent_id: id,
    });
  await Promise.all(agents.map(create));
}

const openRequests = (): number => model.requests.filter(({ state }) => state === 'open').length;

/** The company as visible from outside, events included: if two are equal, nothing happened in between. */
async function picture({ company_id }: Team): Promise<unknown> {
  const tables = ['issues', 'heartbeat_runs', 'activity', 'events', 'wakeup_requests', 'cost_events'];
  const rows = tables.map(async (table) =>
    query(
      `select to_jsonb(t) - 'updated_at' as row from ${table} t where company_id = $1 order by 1`,
      company_id,
    ),
  );
  const comments = query(
    'select c.* from comments c join issues i on i.id = c.issue_id where i.company_id = $1 order by c.id',
    company_id,
  );
  const transcripts = query(
    'select e.run_id, e.seq from run_events e join heartbeat_runs r on r.id = e.run_id where r.company_id = $1 order by 1, 2',
    company_id,
  );
  return Promise.all([...rows, comments, transcripts]);
}

const openTasks = async ({ company_id }: Team): Promise<number> =>
  (
    await query(
      "select 1 from issues where company_id = $1 and title like 'Task of %' and status <> 'done'",
      company_id,
    )
  ).length;

describe('a scheduler killed in the middle of runs', () => {
  // "Early" agents are killed before any verb, "late" ones in their second turn, after they have created an issue.
  const early = ['Early 1', 'Early 2', 'Early 3'];
  const late = ['Late 1', 'Late 2', 'Late 3'];
  let killed = false;

  function script(request: FakeModelRequest): FakeModelReply | string {
    const { agent: name, issue, done_already } = readPrompt(request);
    if (issue === null) return 'Nothing to do.';
    const firstTurn = request.messages.length === 2;
    if (!killed && (early.includes(name) || !firstTurn)) return { chunks: ['I am ', 'at it'], stall: 'end' };
    const created = done_already.includes('/create-issue');
    const create = created || !firstTurn ? '' : `/create-issue Follow-up of ${name}`;
    if (!killed) return `${create}\n/get-issue`;
    return `Done by ${name}.\n${create}\n/status done`;
  }

  it('loses no run, doubles nothing and leaves no checkout; another takes its work over', async () => {
    killed = false;
    model.setScript(script);
    const [doomed] = await startSchedulers(1);
    const first = await createTeam(api, early);
    const second = await createTeam(api, late, { heartbeat_enabled: true, heartbeat_interval_sec: 2 });
    await Promise.all([assignIssues(first), assignIssues(second)]);
    // Three first turns, three second turns.
    await waitFor(() => openRequests() === 6, { what: 'six runs in the model' });
    // A heartbeat due before the agent has its issue ends without one.
    const doomedRuns = [...(await runsOf(first)), ...(await runsOf(second))].filter(
      ({ issue_id }) => issue_id !== null,
    );
    expect(doomedRuns.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'running'));

    await startSchedulers(1);
    killed = true;
    await killScheduler(db, doomed!);
    const [{ expired_at }] = (await query<{ expired_at: Date }>('select now() as expired_at')) as [
      { expired_at: Date },
    ];
    await waitFor(async () => (await openTasks(first)) + (await openTasks(second)) === 0, {
      what: 'every issue being done',
    });
    for (const { id } of second.agents)
      await api.call('PATCH', `/api/agents/${id}`, { heartbeat_enabled: false });
    const isOver = async () =>
      [...(await runsOf(first)), ...(await runsOf(second))].every(
        ({ status }) => !/queued|running/.test(status),
      );
    await waitFor(isOver, { what: 'the end of all runs' });

    for (const team of [first, second]) {
      const runs = await runsOf(team);
      for (const run of doomedRuns.filter(({ agent_id }) => team.agents.some(({ id }) => id === agent_id))) {
        const now = runs.find(({ id }) => id === run.id)!;
        expect(now).toMatchObject({ status: 'failed', error: 'run lost: scheduler stopped' });
        expect(Number(now.finished_at) - Number(expired_at)).toBeLessThan(FOUND_WITHIN_MS);
        const ends = await query(
          `select 1 from events where company_id = $1 and type = 'heartbeat_completed' and data->>'id' = $2`,
          team.company_id,
          run.id,
        );
        expect(ends).toHaveLength(1);
      }
      // Only runs that had applied nothing are retried; for the others, the next heartbeat continues from where they were.
      const retried = runs.filter(({ retry_of_run_id }) => retry_of_run_id !== null);
      expect(retried).toHaveLength(team === first ? 3 : 0);
      // A heartbeat with nothing left to do runs without an issue.
      expect(runs.filter((run) => run.status === 'succeeded' && run.issue_id !== null)).toHaveLength(3);
      expect(
        await query(
          'select 1 from issues where company_id = $1 and checked_out_by_agent_id is not null',
          team.company_id,
        ),
      ).toEqual([]);
      const counts = await query(
        `select title, (select count(*)::int from comments c where c.issue_id = i.id) as comments from issues i
         where company_id = $1 order by title`,
        team.company_id,
      );
      const names = team.agents.map(({ name }) => name);
      expect(counts).toEqual([
        ...names.map((name) => ({ title: `Follow-up of ${name}`, comments: 0 })),
        ...names.map((name) => ({ title: `Task of ${name}`, comments: 1 })),
      ]);
    }
  });
});

describe('a scheduler frozen past its lease', () => {
  it('changes nothing when it is thawed, and works on', async () => {
    const answered = Promise.withResolvers<void>();
    let calls = 0;
    model.setScript(async () => {
      calls += 1;
      if (calls > 1) return 'Done by the other.\n/status done';
      await answered.promise;
      return 'Done by the frozen one.\n/create-issue Too late\n/status cancelled';
    });
    const [frozen] = await startSchedulers(1, shortLeases);
    const team = await createTeam(api, ['Ada']);
    await assignIssues(team);
    await waitFor(() => calls === 1, { what: 'the call of the model' });
    const [other] = await startSchedulers(1);
    frozen!.kill('SIGSTOP');
    answered.resolve();

    await waitFor(async () => (await openTasks(team)) === 0);
    await waitFor(async () => (await runsOf(team)).every(({ status }) => !/queued|running/.test(status)));
    await waitFor(async () => (await query('select from outbox')).length === 0, { what: 'every event' });
    // Only one is left, so everything from here on is its doing.
    expect(await other!.stop()).toEqual({ code: 0, signal: null });
    const before = await picture(team);
    frozen!.kill('SIGCONT');
    await frozen!.logged('a run was given up');
    expect(await picture(team)).toEqual(before);

    const next = await createTeam(api, ['Grace']);
    await assignIssues(next);
    await waitFor(async () => (await openTasks(next)) === 0, { what: 'the thawed one working' });
    expect(await picture(team)).toEqual(before);
  });
});

describe('a process of both tiers on SIGTERM', () => {
  it('lets a run end that can, and hands back one that can not', async () => {
    const calls: string[] = [];
    const team = await createTeam(api, ['Slow', 'Quick']);
    let stopping = true;
    model.setScript((request) => {
      const name = readPrompt(request).agent;
      // Agents of the teams before may wake once more.
      if (!team.agents.some((own) => own.name === name)) return 'Nothing left to do.';
      calls.push(name);
      if (name === 'Slow' && stopping) return { stall: 'headers' };
      const next = stopping ? '/create-issue Task of the next process assignee=Slow' : '';
      return { text: `Done by ${name}.\n${next}\n/status done`, delay_ms: stopping ? 500 : 0 };
    });
    const both = await startService({ ...env, SERVICE_ROLE: 'all' });
    schedulers.push(both);
    await assignIssues(team);
    await waitFor(() => calls.length === 2, { what: 'both calls of the model' });
    expect(await both.stop()).toEqual({ code: 0, signal: null });

    const runs = await runsOf(team);
    expect(runs.map(({ status }) => status).toSorted()).toEqual(['failed', 'queued', 'succeeded']);
    const lost = runs.find(({ status }) => status === 'failed')!;
    expect(lost.error).toBe('run lost: scheduler stopped');
    expect(runs.find(({ status }) => status === 'queued')!.retry_of_run_id).toBe(lost.id);

    stopping = false;
    await startSchedulers(1);
    await waitFor(async () => (await openTasks(team)) === 0, { what: 'the next process taking over' });
    expect(calls.toSorted()).toEqual(['Quick', 'Slow', 'Slow', 'Slow']);
  });
});

describe('40 invoked runs over two schedulers', () => {
  it('execute exactly once each', async () => {
    const calls = new Map<string, number>();
    model.setScript((request) => {
      const name = readPrompt(request).agent;
      calls.set(name, (calls.get(name) ?? 0) + 1);
      return { text: `Done by ${name}.`, delay_ms: 100 };
    });
    await startSchedulers(2, { WORKER_POOL_SIZE: '5' });
    const names = Array.from({ length: 40 }, (_, index) => `Agent ${index + 1}`);
    const team = await createTeam(api, names);
    const invoked = await Promise.all(
      team.agents.map(async ({ id }) => api.call<Run>('POST', `/api/agents/${id}/heartbeat/invoke`)),
    );
    const unfinished = async () =>
      (await runsOf(team))
        .filter(({ status }) => status !== 'succeeded')
        .map(({ status, error }) => [status, error]);
    await waitFor(async () => (expect(await unfinished()).toEqual([]), true), {
      timeout_ms: 60_000,
      what: 'all runs being over',
    });
    const runs = await runsOf(team);
    expect(runs.map(({ id }) => id).toSorted()).toEqual(invoked.map(({ id }) => id).toSorted());
    expect(Object.fromEntries(calls)).toEqual(Object.fromEntries(names.map((name) => [name, 1])));
    expect(new Set(runs.map(({ claimed_by }) => claimed_by)).size).toBe(2);
  });
});

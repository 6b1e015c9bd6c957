import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  cancelRun,
  clearSetting,
  createComment,
  findIssue,
  findRun,
  invokeAgent,
  listRunEvents,
  triggerIssue,
  putSetting,
  type RunRow,
} from '@acp/core';
import { schema, transaction } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import { enqueueMany } from '@acp/queue';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  createUser,
  startFakeModel,
  testLogger,
  waitFor,
} from '@acp/testkit';
import type { FakeModel, FakeModelScript, TestDatabase } from '@acp/testkit';
import { startScheduler } from './main.ts';
import type { RunningScheduler } from './main.ts';

const API_KEY = 'a-key-that-nobody-may-ever-see';
const finalStatuses = ['succeeded', 'failed', 'cancelled'];

let db: TestDatabase;
let model: FakeModel;
const running: RunningScheduler[] = [];

beforeAll(async () => {
  db = await cloneDatabase('engine');
  // Signals of the tests' own transactions are sent as a web process would send them.
  void db.notifier;
  model = await startFakeModel();
});

afterEach(async () => {
  await Promise.all(running.splice(0).map(async (scheduler) => scheduler.stop()));
});

afterAll(async () => model.close());

async function start(env: Record<string, string> = {}): Promise<RunningScheduler> {
  const config = loadConfig({
    DATABASE_URL: db.url,
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_API_KEY: API_KEY,
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
    SERVICE_DRAIN_TIMEOUT_SEC: '0',
    ...env,
  });
  const scheduler = await startScheduler({ config, logger: testLogger() });
  running.push(scheduler);
  return scheduler;
}

async function scene(agentValues: Parameters<typeof createAgent>[2] = {}) {
  const tx = db.database.db;
  const company = await createCompany(tx);
  const human = actors.user(await createUser(tx), { [company.id]: 'member' });
  const agent = await createAgent(tx, company, { name: 'Ada', ...agentValues });
  const issue = await createIssue(tx, company, { assignee_agent_id: agent.id, title: 'Paint the shed' });
  return { company, human, agent, issue };
}

const invoke = async ({ human, agent }: Awaited<ReturnType<typeof scene>>) =>
  transaction(db.database, async (tx) => invokeAgent(tx, human, agent));

const read = async (id: string) => (await findRun(db.database.db, id))!;

async function ended(id: string): Promise<RunRow> {
  return waitFor(
    async () => {
      const run = await read(id);
      return finalStatuses.includes(run.status) && run;
    },
    { what: 'the end of the run' },
  );
}

const runsOf = async (companyId: string) => {
  const { rows } = await db.database.pool.query<RunRow>(
    'select * from heartbeat_runs where company_id = $1 order by created_at, id',
    [companyId],
  );
  return rows;
};

const commentsOn = async (issueId: string) => {
  const { rows } = await db.database.pool.query<{ body_markdown: string; author_agent_id: string | null }>(
    'select body_markdown, author_agent_id from comments where issue_id = $1 order by created_at, id',
    [issueId],
  );
  return rows;
};

const isIdle = async (companyId: string) =>
  (await runsOf(companyId)).every(({ status }) => finalStatuses.includes(status));

const nextTo =
  (name: string, text: string): FakeModelScript =>
  (request) =>
    request.messages[0]!.content.includes(`You are ${name} `) ? text : 'ok';

describe('a run', () => {
  it('of an invoked agent works its issue: verbs, one comment, usage, checkout given back', async () => {
    await start();
    const set = await scene();
    const script = [
      `I looked at it with ${API_KEY}.`,
      '/priority high',
      '/create-issue Buy paint priority=low parent=' + set.issue.identifier,
      '```',
      'Green, two litres.',
      '```',
      '/status done',
      'It is painted.',
    ];
    model.setScript(() => ({
      text: script.join('\n'),
      usage: { input_tokens: 1000, output_tokens: 200, cached_tokens: 100 },
    }));
    const { id } = await invoke(set);
    const run = await ended(id);

    expect(run).toMatchObject({
      status: 'succeeded',
      error: null,
      model: 'fake-model',
      input_tokens: 1000,
      output_tokens: 200,
      cached_tokens: 100,
      cost_usd: '0.00600000',
    });
    const issue = await findIssue(db.database.db, set.issue.id);
    expect(issue).toMatchObject({ status: 'done', priority: 'high', checked_out_by_agent_id: null });
    const { rows: made } = await db.database.pool.query('select * from issues where parent_issue_id = $1', [
      set.issue.id,
    ]);
    expect(made).toMatchObject([
      { title: 'Buy paint', body_markdown: 'Green, two litres.', priority: 'low', origin_id: id },
    ]);
    expect(await commentsOn(set.issue.id)).toEqual([
      { author_agent_id: set.agent.id, body_markdown: 'I looked at it with [redacted].\nIt is painted.' },
    ]);
    const events = await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, id, {});
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.map(({ kind }) => kind).join(' ')).toBe('status prompt output action action action status');
    expect(events.at(-1)!.payload).toEqual({ status: 'succeeded' });
    expect(JSON.stringify(events)).not.toContain(API_KEY);
    expect(model.requests.at(-1)!.headers.authorization).toBe(`Bearer ${API_KEY}`);
  });

  it('that asks gets the answers, and what was refused, in another turn', async () => {
    await start();
    const set = await scene();
    model.setScript(({ messages }) =>
      messages.length === 2
        ? 'Let me see.\n/get-issue\n/list-issues status=todo\n/assign Nobody\n/create-note Later\n/mcp:fly {"to": "Rome"}'
        : 'Now I know.\n/status in_review',
    );
    const { id } = await invoke(set);
    await ended(id);
    const [, , , answer] = model.requests.at(-1)!.messages;
    expect(answer!.content).toContain(`Answer to /get-issue:\n${set.issue.identifier}: Paint the shed`);
    expect(answer!.content).toContain(`${set.issue.identifier} [todo, medium, yours] Paint the shed`);
    expect(answer!.content).toContain('/assign Nobody failed: there is no agent "Nobody"');
    expect(answer!.content).toContain('/create-note Later failed: a fenced body is missing');
    expect(answer!.content).toContain('/mcp:fly {"to": "Rome"} failed: there is no tool "fly"');
    const [comment] = await commentsOn(set.issue.id);
    expect(comment!.body_markdown).toBe('Let me see.\n\nNow I know.');
  });

  it('that creates one too many of a kind is told so, and goes on', async () => {
    await start();
    const set = await scene();
    await putSetting(db.database.db, 'bounds', { notes: 1 });
    const notes = ['One', 'Two'].map((title) => `/create-note ${title}\n\`\`\`\nText\n\`\`\`\n`);
    model.setScript(({ messages }) => (messages.length === 2 ? `${notes.join('')}/get-issue` : 'Done.'));
    await ended((await invoke(set)).id);
    await clearSetting(db.database.db, 'bounds');
    const { content } = model.requests.at(-1)!.messages[3]!;
    expect(content).toContain('/create-note Two failed: a company has 1 notes at most');
  });

  it('streams its output into the transcript while the model still writes', async () => {
    await start();
    const set = await scene();
    const end = Promise.withResolvers<void>();
    model.setScript(() => ({
      chunks: Array.from({ length: 60 }, (_, n) => `word${n} `),
      chunk_delay_ms: 20,
    }));
    const { id } = await invoke(set);
    const early = await waitFor(async () => {
      const events = await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, id, {});
      return events.some(({ kind }) => kind === 'output') && events;
    });
    expect((await read(id)).status).toBe('running');
    end.resolve();
    await ended(id);
    const events = await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, id, {});
    const texts = events.filter(({ kind }) => kind === 'output').map(({ payload }) => payload.text);
    expect(texts.join('').trim()).toBe(Array.from({ length: 60 }, (_, n) => `word${n}`).join(' '));
    // Batches of 100 ms, not tokens.
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.length).toBeLessThan(30);
    expect(events.slice(0, early.length)).toEqual(early);
  });

  it('that is cancelled stops in the middle of its answer and does nothing of it', async () => {
    // The lease is renewed only after twenty minutes: just the notification can deliver the cancel in time.
    await start({ SERVICE_RUN_LEASE_SEC: '3600' });
    const set = await scene();
    model.setScript(() => ({
      // More than the scrubber holds back.
      chunks: ['/status done\n', 'word '.repeat(20), 'end'],
      stall: 'end',
      chunk_delay_ms: 1,
    }));
    const { id } = await invoke(set);
    const request = await waitFor(() => model.requests.at(-1)?.state === 'open' && model.requests.at(-1));
    await waitFor(async () =>
      (await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, id, {})).some(
        ({ kind }) => kind === 'output',
      ),
    );
    const row = await read(id);
    await transaction(db.database, async (tx) => cancelRun(tx, set.human, row));
    expect(await ended(id)).toMatchObject({ status: 'cancelled', usage_missing: true });
    await waitFor(() => request.state === 'aborted');
    expect(await findIssue(db.database.db, set.issue.id)).toMatchObject({
      status: 'todo',
      checked_out_by_agent_id: null,
    });
    expect(await commentsOn(set.issue.id)).toEqual([]);
  });

  it.each([
    ['a silent endpoint', { stall: 'body' as const }, 'timeout'],
    ['a refused key', { status: 401, error: { message: `bad key ${API_KEY}` } }, 'auth'],
  ])('fails by %s, and says why without the key', async (_, reply, category) => {
    await start({ SERVICE_LLM_IDLE_TIMEOUT_SEC: '1' });
    const set = await scene();
    model.setScript(() => reply);
    const run = await ended((await invoke(set)).id);
    expect(run).toMatchObject({ status: 'failed', error_category: category });
    expect(run.error).toBeTruthy();
    expect(
      JSON.stringify([
        run,
        await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, run.id, {}),
      ]),
    ).not.toContain(API_KEY);
    const [state] = await db.database.db.select().from(schema.agents);
    expect(state).toBeDefined();
  });

  it('of an agent whose adapter is not here, or without any provider, fails with the reason', async () => {
    const withProvider = await start();
    const set = await scene({ adapter_type: 'docker' });
    expect(await ended((await invoke(set)).id)).toMatchObject({
      status: 'failed',
      error: "adapter_config must have required property 'image'",
      error_category: 'config',
    });
    await withProvider.stop();
    running.splice(0);
    await start({ SERVICE_DEFAULT_LLM_PROVIDER: '', SERVICE_DEFAULT_LLM_BASE_URL: '' });
    expect(await ended((await invoke(await scene({ adapter_type: 'unheard-of' }))).id)).toMatchObject({
      status: 'failed',
      error:
        'no LLM provider is configured: connect a model to the company, or have the operator set SERVICE_DEFAULT_LLM_PROVIDER',
    });
  });

  it('costs no more than 30 statements, the invoke included', async () => {
    const scheduler = await start();
    model.setScript(() => 'Ok.');
    await ended((await invoke(await scene())).id);
    const cost = async (reply: string) => {
      model.setScript(() => reply);
      const sets = await Promise.all(Array.from({ length: 8 }, async () => scene()));
      const [invoking, executing]: [number[], number[]] = [[], []];
      const ticks = () => scheduler.stats()['due-work']!.ticks;
      for (const set of sets) {
        const [before, ticked] = [scheduler.statements(), ticks()];
        const from = db.database.statements();
        const { id } = await invoke(set);
        invoking.push(db.database.statements() - from);
        await ended(id);
        executing.push(scheduler.statements() - before - (ticks() - ticked));
      }
      // The run with the least concurrent work: timers and batches of text depend on the clock, not on the run.
      return { invoke: Math.max(...invoking), execute: Math.min(...executing) };
    };
    const plain = await cost('I looked at it.');
    const verb = await cost('I looked at it.\n/status in_review');
    const more = verb.execute - plain.execute;
    process.stdout.write(
      `statements of a run: ${plain.invoke} to invoke, ${plain.execute} to execute, ${more} more for a verb\n`,
    );
    expect(plain.invoke + plain.execute).toBeLessThanOrEqual(30);
    expect(more).toBeLessThanOrEqual(8);
  });
});

describe('agents', () => {
  it('wake each other: an assignment, and a mention in the comment that follows', async () => {
    await start();
    const set = await scene();
    await createAgent(db.database.db, set.company, { name: 'Grace' });
    model.setScript(({ messages }) => {
      if (messages[0]!.content.includes('You are Grace ')) return 'Here you are, @Ada.\n/status done';
      return messages[1]!.content.includes('- mention')
        ? '/priority low'
        : '/create-issue Measure it assignee=Grace';
    });
    await invoke(set);
    const runs = await waitFor(async () => {
      const all = await runsOf(set.company.id);
      return all.length === 3 && all.every(({ status }) => finalStatuses.includes(status)) && all;
    });
    expect(runs.map(({ wake_reason: reason, depth, status }) => [reason, depth, status])).toEqual([
      ['manual', 0, 'succeeded'],
      ['assignment', 1, 'succeeded'],
      ['mention', 2, 'succeeded'],
    ]);
  });

  it('that only talk to each other are stopped after five runs until a human acts', async () => {
    await start();
    const set = await scene();
    await createAgent(db.database.db, set.company, { name: 'Grace' });
    model.setScript(({ messages }) =>
      messages[0]!.content.includes('You are Ada ') ? 'What do you think, @Grace?' : 'You say, @Ada.',
    );
    await transaction(db.database, async (tx) =>
      createComment(tx, set.human, set.issue, { body_markdown: '@Ada go on' }),
    );
    await waitFor(async () => (await findIssue(db.database.db, set.issue.id))!.needs_human_attention);
    await waitFor(async () => isIdle(set.company.id));
    expect(await runsOf(set.company.id)).toHaveLength(5);
  });
});

describe('the engine', () => {
  it('executes a run once, however often its job is delivered and however many schedulers there are', async () => {
    await start();
    await start();
    const set = await scene();
    const before = model.count();
    model.setScript(() => ({ text: 'Done.\n/status done', delay_ms: 100 }));
    const { id } = await invoke(set);
    const job = { run_id: id };
    await transaction(db.database, async (tx) => enqueueMany(tx, 'execute-run', [job, job, job, job]));
    await ended(id);
    await transaction(db.database, async (tx) => enqueueMany(tx, 'execute-run', [job, job]));
    await waitFor(async () => {
      const { rows } = await db.database.pool.query(
        "select from pgboss.job where name = 'execute-run' and state in ('created', 'active')",
      );
      return rows.length === 0;
    });
    expect(model.count() - before).toBe(1);
    expect(await commentsOn(set.issue.id)).toHaveLength(1);
  });

  it('writes nothing more for a run whose lease it lost; the fresh run does the work once', async () => {
    await start();
    const set = await scene();
    let calls = 0;
    model.setScript(() => {
      calls += 1;
      const slow = { chunks: Array.from({ length: 100 }, () => 'slow '), chunk_delay_ms: 100 };
      return calls === 1 ? slow : 'Done.\n/status done';
    });
    const { id } = await invoke(set);
    await waitFor(async () =>
      (await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, id, {})).some(
        ({ kind }) => kind === 'output',
      ),
    );
    await db.database.pool.query(
      "update heartbeat_runs set lease_expires_at = now() - interval '1 second' where id = $1",
      [id],
    );
    expect(await ended(id)).toMatchObject({ status: 'failed', error: 'run lost: scheduler stopped' });
    await waitFor(async () => (await findIssue(db.database.db, set.issue.id))!.status === 'done');
    await waitFor(async () => isIdle(set.company.id));
    const lost = model.requests.at(-2)!;
    await waitFor(() => lost.state === 'aborted');
    const [first, second] = await runsOf(set.company.id);
    expect(second).toMatchObject({ retry_of_run_id: first!.id, status: 'succeeded' });
    const events = await listRunEvents(db.database.db, { kind: 'system', name: 'tests' }, id, {});
    expect(events.slice(-2)).toMatchObject([
      { kind: 'error', payload: { message: 'run lost: scheduler stopped' } },
      { kind: 'status', payload: { status: 'failed' } },
    ]);
    expect((await commentsOn(set.issue.id)).map(({ body_markdown: body }) => body)).toEqual(['Done.']);
  });

  it('that stops hands its run over at once, not after the lease', async () => {
    const first = await start();
    const set = await scene();
    let calls = 0;
    model.setScript(() => {
      calls += 1;
      return calls === 1 ? { text: 'never', stall: 'body' as const } : 'Done.\n/status done';
    });
    await invoke(set);
    await waitFor(() => calls === 1);
    await start();
    await first.stop();
    running.splice(0, 1);
    // The lease would last 30 seconds.
    await waitFor(async () => (await findIssue(db.database.db, set.issue.id))!.status === 'done');
    await waitFor(async () => isIdle(set.company.id));
    expect(await commentsOn(set.issue.id)).toHaveLength(1);
  });

  it('that stops lets a run end that can', async () => {
    const scheduler = await start({ SERVICE_DRAIN_TIMEOUT_SEC: '10' });
    const set = await scene();
    const before = model.count();
    model.setScript(() => ({ text: 'Done.\n/status done', delay_ms: 300 }));
    const { id } = await invoke(set);
    await waitFor(() => model.count() > before);
    await scheduler.stop();
    running.splice(0);
    expect(await read(id)).toMatchObject({ status: 'succeeded' });
    expect(await findIssue(db.database.db, set.issue.id)).toMatchObject({ status: 'done' });
  });

  it('that was frozen past its leases does nothing more with its runs', async () => {
    await start({ SERVICE_RUN_LEASE_SEC: '5' });
    const set = await scene();
    let calls = 0;
    model.setScript(() => {
      calls += 1;
      return calls === 1 ? { text: 'Late.\n/status cancelled', delay_ms: 500 } : 'Done.\n/status done';
    });
    const { id } = await invoke(set);
    await waitFor(() => calls === 1);
    // Blocks the whole process, including the timer that renews the leases.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6000);
    expect(await ended(id)).toMatchObject({ status: 'failed', error: 'run lost: scheduler stopped' });
    await waitFor(async () => (await findIssue(db.database.db, set.issue.id))!.status === 'done');
    await waitFor(async () => isIdle(set.company.id));
    expect((await commentsOn(set.issue.id)).map(({ body_markdown: body }) => body)).toEqual(['Done.']);
  });

  it('works off more runs than it has slots, without waiting for a poll', async () => {
    await start({ WORKER_POOL_SIZE: '2' });
    model.setScript(nextTo('Ada', '/status done'));
    const set = await scene({ max_concurrent_runs: 3 });
    const issues = [set.issue];
    for (let n = 0; n < 6; n += 1) {
      issues.push(await createIssue(db.database.db, set.company, { assignee_agent_id: set.agent.id }));
    }
    await transaction(db.database, async (tx) => {
      for (const issue of issues) await triggerIssue(tx, set.human, issue);
    });
    await waitFor(async () => isIdle(set.company.id));
    const runs = await runsOf(set.company.id);
    expect(runs.map(({ status }) => status)).toEqual(Array(7).fill('succeeded'));
  });

  it('that has nothing to do rests, and is woken by what others do', async () => {
    // It rests no longer than a lease lasts: within that time, no lease it does not know of can expire.
    const scheduler = await start({ SERVICE_RUN_LEASE_SEC: '3' });
    const looked = () => scheduler.stats()['due-work']!.last_tick_at?.getTime() ?? 0;
    const looks = () => scheduler.stats()['due-work']!.ticks;
    const pause = async (): Promise<number> => {
      const last = looked();
      await waitFor(() => looked() > last, { timeout_ms: 60_000 });
      return looked() - last;
    };
    await waitFor(() => looked() > 0);
    while ((await pause()) < 2900);
    const before = scheduler.statements();
    expect(Math.min(await pause(), await pause())).toBeGreaterThan(2900);
    // All of the rarer timers may fall into these six seconds; one check for alerts alone takes twenty statements.
    expect(scheduler.statements() - before).toBeLessThanOrEqual(70);
    const woken = looks();
    const set = await scene();
    await transaction(db.database, async (tx) => triggerIssue(tx, set.human, set.issue));
    await waitFor(() => looks() > woken + 4, { what: 'a look each second' });
  });
});

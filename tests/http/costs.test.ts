/**
 * Exact costs of the hot paths: statements on the wire, their round trips, and bytes of WAL including everything that follows a commit. If you
 * make a path cheaper, write the lower figure here; if you make it more expensive, say why.
 * @in-order some look at what the acts before them have left
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mintBoardUserKey, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import {
  createAgent,
  createCompany,
  createIssue,
  createKeyOf,
  loneDatabase,
  startFakeModel,
  startStatementCounter,
  testLogger,
  waitFor,
} from '@acp/testkit';
import type { FakeModel, StatementCounter, TestDatabase } from '@acp/testkit';
import { startScheduler } from '../../apps/scheduler/src/main.ts';
import { startWeb } from '../../apps/web/src/main.ts';
import type { RunningWeb } from '../../apps/web/src/main.ts';

/** The cheapest round counts: pages split, keys are looked up again, timers tick. */
const ROUNDS = 8;

let kit: TestDatabase;
let counter: StatementCounter;
let model: FakeModel;
let web: RunningWeb;
let key: string;
let company: { id: string };
let agent: { id: string; company_id: string };
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  kit = await loneDatabase();
  counter = await startStatementCounter(kit.url);
  model = await startFakeModel();
  web = await startWeb({ config: config(), logger: testLogger() });
  stops.push(async () => web.stop());
  const tx = kit.database.db;
  company = await createCompany(tx);
  agent = await createAgent(tx, company);
  const minted = await transaction(kit.database, async (own) =>
    mintBoardUserKey(own, systemActor('test'), company.id, { role: 'member', label: 'test' }),
  );
  key = minted.raw_key;
});

afterAll(async () => {
  await Promise.all(stops.map(async (stop) => stop()));
  await model.close();
  counter.close();
});

function config() {
  return loadConfig({
    DATABASE_URL: counter.url,
    PORT: '0',
    SERVICE_DRAIN_TIMEOUT_SEC: '1',
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_MODEL: 'fake-model',
    SERVICE_DEFAULT_LLM_BASE_URL: model.url,
  });
}

interface Cost {
  statements: number;
  /** Requests for answers: statements sent with the begin or the commit of their transaction share one. */
  round_trips: number;
  log_bytes: number;
}

async function logPosition(): Promise<bigint> {
  const { rows } = await kit.database.pool.query<{ at: string }>(
    "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as at",
  );
  return BigInt(rows[0]!.at);
}

/** Resolves once all committed events are numbered and no more WAL is written. */
async function settled(): Promise<void> {
  await waitFor(async () => {
    const before = await logPosition();
    const { rowCount } = await kit.database.pool.query('select from outbox limit 1');
    return rowCount === 0 && (await logPosition()) === before;
  });
}

/** @param prepared creates what each round needs, before counting starts */
async function costOf<T>(
  prepare: () => Promise<T>,
  act: (prepared: T) => Promise<void>,
  counted: (text: string) => boolean,
): Promise<Cost> {
  const rounds: Cost[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const prepared = await prepare();
    await settled();
    const [sent, trips, position] = [counter.total(), counter.trips().length, await logPosition()];
    await act(prepared);
    await settled();
    rounds.push({
      log_bytes: Number((await logPosition()) - position),
      statements: counter.texts().slice(sent).filter(counted).length,
      round_trips: tripsSince(trips, counted),
    });
  }
  return {
    statements: Math.min(...rounds.map(({ statements }) => statements)),
    round_trips: Math.min(...rounds.map(({ round_trips }) => round_trips)),
    log_bytes: Math.min(...rounds.map(({ log_bytes }) => log_bytes)),
  };
}

/** Round trips with a statement that counts. */
function tripsSince(from: number, counted: (text: string) => boolean): number {
  const senders = counter.senders().slice(from);
  const trips = counter.trips().slice(from);
  return trips.filter((trip, place) => trip.some((text) => counted(`${senders[place]}: ${text}`))).length;
}

/**
 * Bytes may differ by a hundredth: every page has a header, and numbers grow by a digit. Smaller differences are reported
 * as the expected figure.
 */
function near(found: Cost, { log_bytes }: Cost): Cost {
  const spare = log_bytes / 100 + 48;
  return Math.abs(found.log_bytes - log_bytes) <= spare ? { ...found, log_bytes } : found;
}

async function send(method: string, path: string, authorization: string, body?: object): Promise<Response> {
  const response = await fetch(web.url + path, {
    method,
    headers: { authorization: `Bearer ${authorization}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

const ofApi = (text: string): boolean => text.startsWith('web:');
/** Timers tick independently of the number of runs. */
const ofTimers =
  /exists \(select from agents where next_heartbeat_at|scheduler_ticks|SET LOCAL lock_timeout|next_attempt_at <= now/;

describe('by the API', () => {
  const ofCompany = () => `/api/companies/${company.id}/issues`;
  interface Act {
    cost: Cost;
    act: (issue: { id: string }) => Promise<unknown>;
    /** The issue is an agent's. */
    assigned?: boolean;
  }
  const acts: Record<string, Act> = {
    'an issue is read': {
      cost: { statements: 2, round_trips: 2, log_bytes: 0 },
      act: async ({ id }) => send('GET', `/api/issues/${id}`, key),
    },
    'issues are listed': {
      cost: { statements: 1, round_trips: 1, log_bytes: 0 },
      act: async () => send('GET', ofCompany(), key),
    },
    'an issue is filed': {
      // Its number is assigned outside the transaction.
      cost: { statements: 5, round_trips: 3, log_bytes: 4360 },
      act: async () => send('POST', ofCompany(), key, { title: 'Paint the shed' }),
    },
    'an issue is filed for an agent, who is woken': {
      cost: { statements: 7, round_trips: 3, log_bytes: 5664 },
      act: async () =>
        send('POST', ofCompany(), key, { title: 'Paint the shed', assignee_agent_id: agent.id }),
    },
    'a status is changed': {
      cost: { statements: 5, round_trips: 3, log_bytes: 4056 },
      act: async ({ id }) => send('PATCH', `/api/issues/${id}`, key, { status: 'in_progress' }),
    },
    'an issue is given to an agent, who is woken': {
      cost: { statements: 7, round_trips: 4, log_bytes: 5384 },
      act: async ({ id }) => send('PATCH', `/api/issues/${id}`, key, { assignee_agent_id: agent.id }),
    },
    'an issue is commented on': {
      cost: { statements: 5, round_trips: 2, log_bytes: 2248 },
      act: async ({ id }) => send('POST', `/api/issues/${id}/comments`, key, { body_markdown: 'Done.' }),
    },
    'an assigned issue is commented on, which wakes the agent': {
      assigned: true,
      cost: { statements: 7, round_trips: 3, log_bytes: 3480 },
      act: async ({ id }) => send('POST', `/api/issues/${id}/comments`, key, { body_markdown: 'Done.' }),
    },
  };

  it('a key that was not used for a while is looked up: one statement more', async () => {
    const { id } = await createIssue(kit.database.db, company);
    const { raw_key } = await createKeyOf(kit.database.db, agent);
    const sent: number[] = [];
    for (let time = 0; time < 2; time += 1) {
      const from = counter.total();
      await send('GET', `/api/issues/${id}`, raw_key);
      sent.push(counter.texts().slice(from).filter(ofApi).length);
    }
    expect(sent).toEqual([3, 2]);
  });

  it.each(Object.keys(acts))('%s', async (name) => {
    const { cost, act, assigned } = acts[name]!;
    const found = await costOf(
      async () => createIssue(kit.database.db, company, assigned ? { assignee_agent_id: agent.id } : {}),
      async (issue) => void (await act(issue)),
      ofApi,
    );
    expect(near(found, cost)).toEqual(cost);
  });

  it('the agents of those issues are woken', async () => {
    const { rowCount } = await kit.database.pool.query(
      'select from wakeup_requests where agent_id = $1 and issue_id is not null',
      [agent.id],
    );
    expect(rowCount).toBe(3 * ROUNDS);
  });
});

describe('with a scheduler', () => {
  let worker: string;

  beforeAll(async () => {
    const registered = await send('POST', '/api/workers/register', '', { name: 'w', tags: [] });
    worker = ((await registered.json()) as { api_key: string }).api_key;
    const scheduler = await startScheduler({ config: config(), logger: testLogger() });
    stops.push(async () => scheduler.stop());
    await waitFor(isIdle, { what: 'the agents woken above to be done' });
  });

  it('a run, from its trigger to its last trace, of all processes', async () => {
    const found = await costOf(
      async () => issueOf(await createAgent(kit.database.db, company)),
      async ({ id }) => {
        await send('POST', `/api/issues/${id}/trigger-agent`, key, {});
        await waitFor(async () => isEnded(id), { what: 'the end of the run' });
      },
      (text) => !ofTimers.test(text),
    );
    const cost = { statements: 26, round_trips: 14, log_bytes: 29_900 };
    expect(near(found, cost)).toEqual(cost);
  });

  it('a task is claimed by a worker', async () => {
    const found = await costOf(
      async () => {
        // A claimed task keeps its agent busy.
        const { id } = await issueOf(await createAgent(kit.database.db, company, { adapter_type: 'remote' }));
        await send('POST', `/api/issues/${id}/trigger-agent`, key, {});
        await waitFor(async () => isQueuedTask(id), { what: 'the task' });
      },
      async () => {
        const claim = async () => (await send('POST', '/api/workers/tasks/claim', worker, {})).status === 200;
        await waitFor(claim, { what: 'the claim' });
      },
      ofApi,
    );
    const cost = { statements: 8, round_trips: 6, log_bytes: 3104 };
    expect(near(found, cost)).toEqual(cost);
  });

  it('a worker says that it is there', async () => {
    const found = await costOf(
      async () => undefined,
      async () => void (await send('POST', '/api/workers/heartbeat', worker)),
      ofApi,
    );
    // One of them says that the commit need not wait for the disk.
    const cost = { statements: 4, round_trips: 2, log_bytes: 176 };
    expect(near(found, cost)).toEqual(cost);
  });

  async function issueOf(assignee: { id: string }) {
    return createIssue(kit.database.db, company, { assignee_agent_id: assignee.id });
  }

  async function isIdle(): Promise<boolean> {
    const { rowCount } = await kit.database.pool.query(`
      select id from wakeup_requests where status = 'pending'
      union all select id from heartbeat_runs where status in ('queued', 'running')`);
    return rowCount === 0;
  }

  async function isEnded(issueId: string): Promise<boolean> {
    const { rowCount } = await kit.database.pool.query(
      'select from heartbeat_runs where issue_id = $1 and finished_at is not null',
      [issueId],
    );
    return rowCount === 1;
  }

  async function isQueuedTask(issueId: string): Promise<boolean> {
    const { rowCount } = await kit.database.pool.query(
      "select from remote_tasks t join heartbeat_runs r on r.id = t.heartbeat_run_id where r.issue_id = $1 and t.status = 'queued'",
      [issueId],
    );
    return rowCount === 1;
  }
});

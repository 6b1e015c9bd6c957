/**
 * How claims are distributed and what they cost: fleets of several web processes on one database, without a scheduler.
 * @in-order tasks that one test left are claimed in the next
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { RemoteTask, WorkerActor, WorkerStatus } from '@acp/contract';
import { registerWorker } from '@acp/core';
import { type Listener, signal, transaction } from '@acp/db';
import {
  createAgent,
  createCompany,
  fakeTaskPayload,
  testDatabase,
  type TestDatabase,
  waitFor,
  nextInstant,
} from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { createFleet, type Fleet } from '../../apps/web/src/fleet/fleet.ts';

let kit: TestDatabase;
const fleets: Fleet[] = [];

beforeAll(async () => {
  kit = await testDatabase();
  await kit.listener.ready();
  await kit.notifier.sequenceNow();
});

beforeEach(async () => {
  await kit.database.db.execute(sql`delete from remote_tasks`);
});

afterAll(() => {
  for (const fleet of fleets) fleet.close();
});

const registration = { approval: false, max: 0 };

function openFleet(listener: Listener | undefined = kit.listener): Fleet {
  const fleet = createFleet({
    database: kit.database,
    listener,
    registration,
    claims: { base_url: 'http://service.example' },
  });
  fleets.push(fleet);
  return fleet;
}

/** A worker in the form of the credential cache. */
async function newWorker(tags: string[] = []): Promise<WorkerActor> {
  const { worker } = await transaction(kit.database, async (tx) =>
    registerWorker(tx, { name: 'w', tags }, registration),
  );
  const { id: worker_id, name, shared_models } = worker;
  return { kind: 'worker', worker_id, name, status: 'approved', tags, shared_models };
}

const manyWorkers = async (count: number, tags: string[] = []) =>
  Promise.all(Array.from({ length: count }, async () => newWorker(tags)));

async function newAgent(): Promise<{ id: string; company_id: string }> {
  return createAgent(kit.database.db, await createCompany(kit.database.db), { adapter_type: 'remote' });
}

interface Waiting {
  tags?: string[];
  payload?: object;
  /** Whether other processes are notified. */
  told?: boolean;
}

/** Inserts tasks as runs of remote agents do. */
async function queueTasks(
  count: number,
  { id, company_id }: { id: string; company_id: string },
  { tags = [], payload, told = true }: Waiting = {},
): Promise<void> {
  const laid = payload ?? fakeTaskPayload({ company_id, agent_id: id });
  await transaction(kit.database, async (tx) => {
    await tx.execute(sql`
      with run as (
        insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, status, started_at, handed_over_at)
        select ${company_id}::uuid, ${id}::uuid, 'manual', 'remote', 'running', now(), now()
        from generate_series(1, ${count}) returning id
      )
      insert into remote_tasks (heartbeat_run_id, agent_id, company_id, tags_required, payload, deadline, route)
      select id, ${id}, ${company_id}, ${JSON.stringify(tags)}::jsonb, ${JSON.stringify(laid)}::jsonb,
        now() + interval '1 hour', ${`${company_id} ${tags.join()}`}
      from run`);
    if (told) signal(tx, 'tasks', '');
  });
  if (!told) return;
  // Arrives after everything notified before it.
  const mark = crypto.randomUUID();
  const heard = new Promise<void>((resolve) => {
    const off = kit.listener.on('control', (items) => {
      if (!items.includes(mark)) return;
      off();
      resolve();
    });
  });
  await kit.listener.ready();
  kit.notifier.push('control', [mark]);
  await heard;
}

const claimAll = async (fleet: Fleet, workers: readonly WorkerActor[]): Promise<RemoteTask[]> =>
  (await Promise.all(workers.map(async (worker) => fleet.claim(worker)))).filter(
    (task) => task !== undefined,
  );
const idsOf = (tasks: readonly RemoteTask[]) => new Set(tasks.map(({ id }) => id));
const waiting = async () => {
  const { rows } = await kit.database.db.execute(sql`select 1 from remote_tasks where status = 'queued'`);
  return rows.length;
};
const store = async ({ worker_id }: WorkerActor, change: ReturnType<typeof sql>) =>
  kit.database.db.execute(sql`update workers set ${change} where id = ${worker_id}`);

describe('many claims at once', () => {
  it('are answered by a look and one transaction, each task once, and those in vain by nothing', async () => {
    const fleet = openFleet();
    const workers = await manyWorkers(40);
    await claimAll(fleet, workers);
    await queueTasks(3, await newAgent());
    const before = kit.database.statements();
    const tasks = await claimAll(fleet, workers);
    const spent = kit.database.statements() - before;
    expect(idsOf(tasks).size).toBe(3);
    expect(tasks).toHaveLength(3);
    // The check; begin, claim, the runs, their transcripts, the workers, activity and events, commit.
    expect(spent).toBe(8);
    expect(new Set(tasks.map(({ worker_id }) => worker_id)).size).toBe(3);
    const { rows } = await kit.database.db.execute<{ actor_id: string; entity_id: string }>(
      sql`select actor_id, entity_id from activity where action = 'remote_task.claimed' and actor_type = 'worker'`,
    );
    expect(new Set(rows.map(({ actor_id, entity_id }) => `${actor_id} ${entity_id}`))).toEqual(
      new Set(tasks.map(({ worker_id, id }) => `${worker_id} ${id}`)),
    );
  });

  it('of two web processes get every task, and each once', async () => {
    const [one, other] = [openFleet(), openFleet()];
    const workers = await manyWorkers(30);
    await queueTasks(50, await newAgent());
    const tasks: RemoteTask[] = [];
    await waitFor(
      async () => {
        const rounds = await Promise.all([claimAll(one, workers), claimAll(other, workers)]);
        tasks.push(...rounds.flat());
        return (await waiting()) === 0;
      },
      { what: 'the end of the queue' },
    );
    expect(tasks).toHaveLength(50);
    expect(idsOf(tasks).size).toBe(50);
  });

  it('take a company’s one task as soon as the first of another’s many', async () => {
    const fleet = openFleet();
    const [busy, small] = [await newAgent(), await newAgent()];
    await queueTasks(20, busy);
    await queueTasks(1, small);
    const tasks = await claimAll(fleet, await manyWorkers(2));
    expect(new Set(tasks.map(({ company_id }) => company_id))).toEqual(
      new Set([busy.company_id, small.company_id]),
    );
  });

  it('take the oldest tasks of a route, more than are counted at once too', async () => {
    const fleet = openFleet();
    await queueTasks(300, await newAgent());
    const { rows } = await kit.database.db.execute<{ id: string }>(
      sql`select id from remote_tasks order by created_at, id limit 50`,
    );
    const workers = await manyWorkers(50);
    expect(idsOf(await claimAll(fleet, workers))).toEqual(new Set(rows.map(({ id }) => id)));
    for (let round = 0; round < 5; round += 1) await claimAll(fleet, workers);
    expect(await waiting()).toBe(0);
  });

  it('of a large fleet do not all wait for a look: the others ask again', async () => {
    const fleet = openFleet();
    const workers = await manyWorkers(120);
    await claimAll(fleet, workers);
    await queueTasks(80, await newAgent());
    expect(await claimAll(fleet, workers)).toHaveLength(50);
    expect(await claimAll(fleet, workers)).toHaveLength(30);
  });
});

describe('a task is not left waiting', () => {
  it('when nobody told of it: it is found by and by', async () => {
    const fleet = openFleet();
    const worker = await newWorker();
    await fleet.claim(worker);
    await queueTasks(1, await newAgent(), { told: false });
    expect(await waitFor(async () => fleet.claim(worker), { what: 'the task' })).toMatchObject({
      worker_id: worker.worker_id,
    });
  });

  it('when the one who asked may not work any more: the next one gets it', async () => {
    const changes: [ReturnType<typeof sql>, string][] = [
      ...(['draining', 'disabled', 'rejected', 'pending_approval'] satisfies WorkerStatus[]).map(
        (status): [ReturnType<typeof sql>, string] => [sql`status = ${status}`, status],
      ),
      [sql`tags = '[]'`, 'other tags'],
      [sql`last_seen_at = now() - interval '301 seconds'`, 'offline'],
    ];
    const agent = await newAgent();
    for (const [change, what] of changes) {
      const fleet = openFleet();
      const [first, second] = await manyWorkers(2, ['gpu']);
      await queueTasks(1, agent, { tags: ['gpu'] });
      await store(first!, change);
      expect([what, await fleet.claim(first!)]).toEqual([what, undefined]);
      expect([what, (await fleet.claim(second!))?.worker_id]).toEqual([what, second!.worker_id]);
    }
    const [gone, there] = await manyWorkers(2);
    await queueTasks(1, agent);
    await kit.database.db.execute(sql`delete from workers where id = ${gone!.worker_id}`);
    const fleet = openFleet();
    expect(await fleet.claim(gone!)).toBeUndefined();
    expect(await fleet.claim(there!)).toBeDefined();
  });

  it('when the database refuses the claims for a moment', async () => {
    const fleet = openFleet();
    const worker = await newWorker();
    await fleet.claim(worker);
    await queueTasks(1, await newAgent());
    await kit.database.db.execute(sql`alter table run_events rename to elsewhere`);
    const refused = await Promise.allSettled([fleet.claim(worker), fleet.claim(worker)]);
    await kit.database.db.execute(sql`alter table elsewhere rename to run_events`);
    expect(refused.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await fleet.claim(worker)).toBeDefined();
  });

  it('when another before it can’t be handed out, which fails that claim alone', async () => {
    const fleet = openFleet();
    const agent = await newAgent();
    await queueTasks(1, agent, { payload: { nonsense: true } });
    await nextInstant();
    await queueTasks(2, agent);
    const claims = await Promise.allSettled((await manyWorkers(3)).map(async (each) => fleet.claim(each)));
    expect(claims.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(claims.map((each) => each.status === 'fulfilled' && each.value !== undefined)).toEqual([
      false,
      true,
      true,
    ]);
  });
});

it('tasks whose runs are called off are not handed out, and cost little however often they are asked for', async () => {
  const fleet = openFleet();
  const workers = await manyWorkers(10);
  await queueTasks(5, await newAgent());
  await kit.database.db.execute(
    sql`update heartbeat_runs set cancel_requested_at = now() where id in (select heartbeat_run_id from remote_tasks)`,
  );
  expect(await claimAll(fleet, workers)).toEqual([]);
  const before = kit.database.statements();
  for (let round = 0; round < 20; round += 1) expect(await claimAll(fleet, workers)).toEqual([]);
  // At most the delayed second check, and its claim.
  expect(kit.database.statements() - before).toBeLessThanOrEqual(8);
});

it('heartbeats of many workers at once are stored by one transaction', async () => {
  const fleet = openFleet();
  const workers = await manyWorkers(50);
  await kit.database.db.execute(sql`update workers set last_seen_at = null`);
  const before = kit.database.statements();
  await Promise.all(workers.map(async ({ worker_id }) => fleet.heartbeat({ worker_id, running: null })));
  expect(kit.database.statements() - before).toBe(3);
  const { rows } = await kit.database.db.execute(sql`select 1 from workers where last_seen_at is not null`);
  expect(rows).toHaveLength(50);
});

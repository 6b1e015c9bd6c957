import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { transaction } from '@acp/db';
import { conflict, newId } from '@acp/kernel';
import { cloneDatabase, testLogger, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { enqueue, enqueueMany, migrateQueue, openQueue } from './index.ts';
import type { Queue } from './index.ts';

const logger = testLogger();
let test: TestDatabase;
let client: Queue;
let queues: Queue[] = [];

beforeAll(async () => {
  test = await cloneDatabase('queue');
  await migrateQueue(test.url);
  await test.notifier.sequenceNow();
  client = await openQueue({ database: test.database, role: 'client', logger });
});

afterAll(async () => client.stop());

afterEach(async () => {
  await Promise.all(queues.map(async (queue) => queue.stop({ timeout_ms: 1000 })));
  queues = [];
  await test.database.db.execute(sql`delete from pgboss.job`);
});

async function consumer(): Promise<Queue> {
  const queue = await openQueue({
    database: test.database,
    role: 'consumer',
    listener: test.listener,
    logger,
  });
  await test.listener.ready();
  queues.push(queue);
  return queue;
}

const send = async (agentId: string, startAfter?: Date) =>
  transaction(test.database, async (tx) => {
    await enqueue(tx, 'dispatch-agent', { agent_id: agentId }, startAfter ? { start_after: startAfter } : {});
  });

const states = async () => {
  const { rows } = await test.database.db.execute<{ state: string }>(
    sql`select state::text as state from pgboss.job`,
  );
  return rows.map(({ state }) => state);
};

/** Number of statements `act` sends while everything else is quiet. */
async function statementsOf(act: () => Promise<unknown>): Promise<number> {
  const before = test.database.statements();
  await act();
  return test.database.statements() - before;
}

describe('enqueue', () => {
  it('in a transaction that rolls back leaves no job and kicks nobody', async () => {
    const handled: string[] = [];
    const queue = await consumer();
    queue.consume('dispatch-agent', { concurrency: 4 }, async ({ agent_id }) => {
      handled.push(agent_id);
    });
    const failing = transaction(test.database, async (tx) => {
      await enqueue(tx, 'dispatch-agent', { agent_id: newId() });
      throw conflict('no');
    });
    await expect(failing).rejects.toMatchObject({ kind: 'conflict' });
    const next = newId();
    await send(next);
    await waitFor(() => handled.length > 0);
    expect(handled).toEqual([next]);
  });

  it('outside of a transaction throws and stores nothing', async () => {
    await expect(enqueue(test.database.db, 'dispatch-agent', { agent_id: newId() })).rejects.toThrow(
      'outside',
    );
    expect(await states()).toEqual([]);
  });

  it('twice for the same job, in one transaction, stores one; another time or subject is another', async () => {
    const [agent_id, other] = [newId(), newId()];
    const later = { start_after: new Date(Date.now() + 60_000) };
    await transaction(test.database, async (tx) => {
      await enqueue(tx, 'dispatch-agent', { agent_id });
      await enqueueMany(tx, 'dispatch-agent', [{ agent_id: other }, { agent_id }]);
      await enqueue(tx, 'dispatch-agent', { agent_id }, later);
      await enqueue(tx, 'settle-agent', { agent_id });
    });
    expect(await states()).toHaveLength(4);
    await send(agent_id);
    expect(await states()).toHaveLength(5);
  });

  it('is one statement, for one job and for a thousand', async () => {
    await send(newId());
    const one = await statementsOf(async () => send(newId()));
    const payloads = Array.from({ length: 1000 }, () => ({ agent_id: newId() }));
    const thousand = await statementsOf(async () =>
      transaction(test.database, async (tx) => enqueueMany(tx, 'dispatch-agent', payloads)),
    );
    expect([one, thousand]).toEqual([3, 3]);
    expect(await states()).toHaveLength(1002);
  });

  it('for later starts the job at its time and not at the next poll', async () => {
    const queue = await consumer();
    const handled: number[] = [];
    queue.consume('dispatch-agent', { concurrency: 4 }, async () => {
      handled.push(Date.now());
    });
    const due = Date.now() + 400;
    await send(newId(), new Date(due));
    await waitFor(() => handled.length === 1, { timeout_ms: 20_000 });
    expect(handled[0]).toBeGreaterThanOrEqual(due - 50);
  });
});

describe('a consumer', () => {
  it('that is idle gets a job within milliseconds of its commit', async () => {
    const queue = await consumer();
    const handledAt = new Map<string, number>();
    queue.consume('dispatch-agent', { concurrency: 4 }, async ({ agent_id }) => {
      handledAt.set(agent_id, performance.now());
    });
    const latencies: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const id = newId();
      await send(id);
      const committed = performance.now();
      await waitFor(() => handledAt.has(id), { interval_ms: 1 });
      latencies.push((handledAt.get(id) ?? Infinity) - committed);
    }
    const median = latencies.toSorted((a, b) => a - b)[10];
    expect(median).toBeLessThan(50);
  });

  it('costs one fetch and one completion for a single job', async () => {
    const queue = await consumer();
    let handled = 0;
    queue.consume('dispatch-agent', { concurrency: 4 }, async () => {
      handled += 1;
    });
    await send(newId());
    await waitFor(async () => (await states()).every((state) => state === 'completed'));
    const before = test.database.statements();
    await send(newId());
    await waitFor(() => handled === 2);
    await waitFor(() => test.database.statements() - before >= 5);
    // begin, insert, commit; fetch; complete
    expect(test.database.statements() - before).toBe(5);
  });

  it('beside another one handles each of 400 jobs exactly once, in slots', async () => {
    const seen = new Map<string, number>();
    let running = 0;
    let most = 0;
    const both = [await consumer(), await consumer()];
    for (const queue of both) {
      queue.consume('dispatch-agent', { concurrency: 8 }, async ({ agent_id }) => {
        running += 1;
        most = Math.max(most, running);
        await test.database.db.execute(sql`select 1`);
        seen.set(agent_id, (seen.get(agent_id) ?? 0) + 1);
        running -= 1;
      });
    }
    const ids = Array.from({ length: 400 }, newId);
    const senders = [0, 1, 2, 3].map(async (part) => {
      for (const id of ids.slice(part * 100, part * 100 + 100)) await send(id);
    });
    await Promise.all(senders);
    await waitFor(() => seen.size === ids.length);
    await waitFor(async () => (await states()).every((state) => state === 'completed'));
    expect([...seen.values()].every((times) => times === 1)).toBe(true);
    expect(most).toBeLessThanOrEqual(16);
  });

  it('takes the oldest of a batch first', async () => {
    const ids = Array.from({ length: 12 }, newId);
    for (const id of ids) await send(id);
    const order: string[] = [];
    const queue = await consumer();
    queue.consume('dispatch-agent', { concurrency: 20 }, async ({ agent_id }) => {
      order.push(agent_id);
    });
    await waitFor(() => order.length === ids.length);
    expect(order).toEqual(ids);
  });

  it('without free slots fetches nothing until it is kicked', async () => {
    let slots = 0;
    let handled = 0;
    const queue = await consumer();
    queue.consume('dispatch-agent', { concurrency: 4, slots: () => slots }, async () => {
      handled += 1;
    });
    await send(newId());
    await waitFor(async () => (await states()).includes('created'));
    expect(handled).toBe(0);
    slots = 1;
    queue.kick('dispatch-agent');
    await waitFor(() => handled === 1);
  });

  it('whose handler throws gets the job again, as the next attempt', async () => {
    const attempts: number[] = [];
    const queue = await consumer();
    queue.consume('dispatch-agent', { concurrency: 4 }, async (_, { attempt }) => {
      attempts.push(attempt);
      if (attempt === 1) throw new Error('once');
    });
    await send(newId());
    await waitFor(() => attempts.length === 2);
    await waitFor(async () => (await states())[0] === 'completed');
    expect(attempts).toEqual([1, 2]);
  });

  it('that stops lets its handlers end and starts no more', async () => {
    const started: string[] = [];
    const gate = Promise.withResolvers<void>();
    const queue = await consumer();
    queue.consume('dispatch-agent', { concurrency: 1 }, async ({ agent_id }) => {
      started.push(agent_id);
      await gate.promise;
    });
    const [first, second] = [newId(), newId()];
    await send(first);
    await waitFor(() => started.length === 1);
    await send(second);
    const stopping = queue.stop({ timeout_ms: 5000 });
    gate.resolve();
    await stopping;
    expect(started).toEqual([first]);
    expect((await states()).toSorted()).toEqual(['completed', 'created']);
  });

  it('that stops with a handler that does not end aborts it and hands the job to another one', async () => {
    const reasons: unknown[] = [];
    const started = Promise.withResolvers<void>();
    const queue = await consumer();
    queue.consume('dispatch-agent', { concurrency: 1 }, async (_, { signal }) => {
      started.resolve();
      await waitFor(() => signal.aborted);
      reasons.push(signal.reason);
    });
    await send(newId());
    await started.promise;
    const attempts: number[] = [];
    const other = await consumer();
    other.consume('dispatch-agent', { concurrency: 1 }, async (_, { attempt }) => {
      attempts.push(attempt);
    });
    await queue.stop({ timeout_ms: 50 });
    expect(await states()).toEqual(['retry']);
    // Long before the next poll at 30 s.
    await waitFor(() => attempts.length === 1);
    expect(attempts).toEqual([2]);
    await waitFor(() => reasons.length === 1);
    expect(reasons).toMatchObject([{ message: 'the scheduler stops' }]);
  });
});

describe('a client', () => {
  it('sends nothing while it is idle, and consumes nothing', async () => {
    const queue = await openQueue({ database: test.database, role: 'client', logger });
    expect(() => queue.consume('dispatch-agent', { concurrency: 1 }, async () => undefined)).toThrow(
      'client',
    );
    const before = test.database.statements();
    await waitFor(async () => test.notifier.sequenceNow().then(() => true));
    expect(test.database.statements()).toBe(before);
    await queue.stop();
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PgBoss } from 'pg-boss';
import { jobCatalogue } from '@acp/contract';
import { transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { cloneDatabase, testLogger, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { createBoss } from './boss.ts';
import { Consumer } from './consumer.ts';
import type { JobHandler } from './consumer.ts';
import { migrateQueue } from './migrate-queue.ts';

// A separate catalogue: the real one's times are too long for tests.
const row = { ...jobCatalogue['dispatch-agent'], retry_limit: 1, retry_delay_sec: 0, retry_backoff: false };
const catalogue = {
  'dispatch-agent': { ...row, expire_sec: 1, dead_letter: 'execute-run' },
  'execute-run': row,
};
const logger = testLogger();
let test: TestDatabase;
let boss: PgBoss;

beforeAll(async () => {
  test = await cloneDatabase('consumer');
  await migrateQueue(test.url, catalogue);
  boss = createBoss(test.database, 'client', logger);
  await boss.start();
});

afterAll(async () => {
  await boss.stop({ graceful: false, close: false });
});

async function handle(
  handler: JobHandler<'dispatch-agent'>,
  data: object = { agent_id: newId() },
): Promise<Consumer<'dispatch-agent'>> {
  await test.database.db.execute(sql`delete from pgboss.job`);
  await boss.insert('dispatch-agent', [{ data }]);
  const options = { concurrency: 2 };
  const settings = {
    boss,
    job: 'dispatch-agent' as const,
    row: catalogue['dispatch-agent'],
    options,
    handler,
  };
  return new Consumer(settings);
}

const jobs = async () => {
  const { rows } = await test.database.db.execute<{ job: string }>(
    sql`select name || ' ' || state::text as job from pgboss.job order by 1`,
  );
  return rows.map(({ job }) => job);
};

describe('a job', () => {
  it('completed in its handler’s transaction is completed by that commit; where it fails, the job is repeated', async () => {
    const attempts: number[] = [];
    const states: string[][] = [];
    const consumer = await handle(async (_, { attempt, completeIn }) => {
      attempts.push(attempt);
      await transaction(test.database, async (tx) => {
        await tx.execute(sql`select ${attempt}`);
        completeIn(tx);
        if (attempt === 1) throw new Error('not yet');
      });
      states.push(await jobs());
    });
    await waitFor(() => states.length === 1);
    await consumer.stop(1000);
    expect([attempts, states]).toEqual([[1, 2], [['dispatch-agent completed']]]);
  });

  it('whose time is over aborts its handler and is repeated; its late completion changes nothing', async () => {
    const reasons: unknown[] = [];
    const consumer = await handle(async (_, { attempt, signal }) => {
      if (attempt === 2) return;
      await waitFor(() => signal.aborted);
      reasons.push(signal.reason);
    });
    await waitFor(async () => (await jobs())[0] === 'dispatch-agent completed');
    await waitFor(() => reasons.length === 1);
    expect(reasons).toMatchObject([{ message: 'the job expired' }]);
    await consumer.stop(1000);
  });

  it('that failed for good is in the dead letter queue', async () => {
    let attempts = 0;
    const consumer = await handle(async () => {
      attempts += 1;
      throw new Error('never');
    });
    await waitFor(async () => (await jobs()).length === 2);
    expect(await jobs()).toEqual(['dispatch-agent failed', 'execute-run created']);
    expect(attempts).toBe(2);
    await consumer.stop(1000);
  });

  it('with a payload that is none of its catalogue row never reaches the handler', async () => {
    let attempts = 0;
    const handler = async () => {
      attempts += 1;
    };
    const consumer = await handle(handler, { agent_id: 'no uuid' });
    await waitFor(async () => (await jobs()).includes('dispatch-agent failed'));
    expect(attempts).toBe(0);
    await consumer.stop(1000);
  });

  it('whose process died is repeated once its time is over', async () => {
    await test.database.db.execute(sql`delete from pgboss.job`);
    await boss.insert('dispatch-agent', [{ data: { agent_id: newId() } }]);
    // Fetched by a consumer that will never answer.
    await boss.fetch('dispatch-agent');
    await test.database.db.execute(sql`update pgboss.job set started_on = now() - interval '10 s'`);
    await boss.supervise('dispatch-agent');
    expect(await jobs()).toEqual(['dispatch-agent retry']);
  });
});

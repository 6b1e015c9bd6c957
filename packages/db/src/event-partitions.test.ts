import { beforeEach, describe, expect, it } from '@jest/globals';
import { cloneDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { type Database, partitionEvents, transaction } from './index.ts';
import { partitionStep } from './partition-events.ts';

const never = new AbortController().signal;
let database: Database;
beforeEach(async () => {
  database = (await cloneDatabase('partitions')).database;
});

const run = async <T>(text: string): Promise<T[]> => (await database.pool.query(text)).rows as T[];

async function publish(count: number): Promise<void> {
  await run(
    `insert into outbox (type, data) select 'issue_updated', jsonb_build_object('n', n) from generate_series(1, ${count}) n`,
  );
}

async function sequence(): Promise<number> {
  const [row] = await run<{ moved: number }>('select sequence_outbox(1000) as moved');
  return row!.moved;
}

const partitions = async () =>
  (
    await run<{ part: string }>(`select relname || ' ' || pg_get_expr(relpartbound, c.oid) as part
      from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'events'::regclass order by c.oid`)
  ).map(({ part }) => part);

const seqs = async () =>
  (await run<{ seq: string }>('select seq from events order by seq')).map(({ seq }) => Number(seq));

const FIRST = 'events_0 FOR VALUES FROM (MINVALUE) TO';

/** The table as earlier releases created it, with a few days of events, the last of them numbered `last`. */
async function asBefore(last: number): Promise<void> {
  await run(`
    drop table events;
    create table events (seq bigint primary key, id uuid not null, company_id uuid, type text not null, data jsonb not null,
      occurred_at timestamptz(3) not null);
    create index events_occurred_at on events (occurred_at);
    insert into events select n, gen_random_uuid(), null, 'issue_updated', '{}', now() - interval '3 days'
      from generate_series(${last} - 99, ${last}) n;
    update event_sequence set last = ${last}`);
}

describe('the events of a new instance', () => {
  it('get a partition by whoever numbers the first one behind the last, and no number is left out', async () => {
    expect(await partitions()).toEqual([`${FIRST} ('100000')`]);
    await run('update event_sequence set last = 99990');
    await publish(30);
    expect(await sequence()).toBe(30);
    expect(await seqs()).toEqual(Array.from({ length: 30 }, (_, n) => 99_991 + n));
    expect(await partitions()).toEqual([
      `${FIRST} ('100000')`,
      `events_100000 FOR VALUES FROM ('100000') TO ('200000')`,
    ]);
    const counts = await run<{ table: string; n: string }>(
      'select tableoid::regclass::text as table, count(*) as n from events group by 1 order by 1',
    );
    expect(counts).toEqual([
      { table: 'events_0', n: '9' },
      { table: 'events_100000', n: '21' },
    ]);
  });

  it('get one as wide as a day of them is, so that there are few', async () => {
    await run(`select make_room_for_events(500000)`);
    await run(
      `insert into events select n, gen_random_uuid(), null, 'x', '{}', now() - interval '1 hour' from generate_series(1, 3) n`,
    );
    await run('update event_sequence set last = 599999');
    await publish(1);
    await sequence();
    expect((await partitions()).at(-1)).toBe(`events_600000 FOR VALUES FROM ('600000') TO ('1200000')`);
  });

  it('are read by number from the partitions that have them alone, by an index', async () => {
    await run('select make_room_for_events(100000)');
    const plan = await transaction(database, async (tx) => {
      await tx.execute(sql`set local enable_seqscan = off`);
      return tx.execute<{ 'QUERY PLAN': string }>(
        sql`explain select * from events where seq > 150000 order by seq limit 100`,
      );
    });
    const text = plan.rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(text).toContain('Index Scan using events_100000_pkey');
    expect(text).not.toContain('events_0');
  });
});

describe('the events of an instance that had some before', () => {
  it('become the first partition where they lie, while more are published', async () => {
    await asBefore(2_345_678);
    // A statement prepared before the change must find them afterwards.
    const client = await database.pool.connect();
    const count = { name: 'count', text: 'select count(*)::int as n from events' };
    expect((await client.query(count)).rows).toEqual([{ n: 100 }]);
    const publishing = (async () => {
      for (let n = 0; n < 20; n += 1) {
        await publish(5);
        await sequence();
      }
    })();
    await partitionEvents(database, never);
    await publishing;
    expect(await partitions()).toEqual([`${FIRST} ('3400000')`]);
    expect(await seqs()).toEqual(Array.from({ length: 200 }, (_, n) => 2_345_579 + n));
    expect((await client.query(count)).rows).toEqual([{ n: 200 }]);
    client.release();
    const constraints = await run(`select conname from pg_constraint where conname = 'events_end'`);
    expect(constraints).toEqual([]);
    await run('update event_sequence set last = 3399995');
    await publish(10);
    expect(await sequence()).toBe(10);
    expect((await partitions()).at(-1)).toContain(`events_3400000 FOR VALUES FROM ('3400000')`);
  });

  it('are taken up where a killed process left them, whatever it had done', async () => {
    await asBefore(500);
    const step = async () => transaction(database, async (tx) => partitionStep(tx));
    const killed = async () =>
      transaction(database, async (tx) => {
        await partitionStep(tx);
        throw new Error('killed');
      });
    for (const more of [true, true, false]) {
      await expect(killed()).rejects.toThrow('killed');
      expect(await step()).toBe(more);
    }
    expect(await partitions()).toEqual([`${FIRST} ('1100000')`]);
    expect(await step()).toBe(false);
  });

  it('are given more room where their numbers came close to the end meanwhile', async () => {
    await asBefore(500);
    const step = async () => transaction(database, async (tx) => partitionStep(tx));
    await step();
    await run('update event_sequence set last = 1050000');
    await partitionEvents(database, never);
    expect(await partitions()).toEqual([`${FIRST} ('2100000')`]);
  });

  it('are left alone by a second process', async () => {
    await asBefore(500);
    await transaction(database, async (tx) => {
      expect(await partitionStep(tx)).toBe(true);
      expect(await transaction(database, async (other) => partitionStep(other))).toBe(false);
    });
  });
});

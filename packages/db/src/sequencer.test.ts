import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cloneDatabase, waitFor } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { readFile, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createNotifier, migrationsFolder, signal, transaction } from './index.ts';
import type { Notifier, Tx } from './index.ts';

const WRITERS = 8;
const EVENTS_PER_WRITER = 500;
const PER_TRANSACTION = 5;

let test: TestDatabase;
let notifiers: Notifier[];

beforeAll(async () => {
  test = await cloneDatabase('sequencer');
  notifiers = [0, 1, 2].map(() => createNotifier({ url: test.url, poll_ms: 50 }));
});

afterAll(async () => {
  await Promise.all(notifiers.map(async (notifier) => notifier.close()));
});

async function publish(tx: Tx, type: string, data: object): Promise<void> {
  await tx.execute(
    sql`insert into outbox (event_id, type, data, occurred_at)
        values (gen_random_uuid(), ${type}, ${JSON.stringify(data)}::jsonb, now())`,
  );
  signal(tx, 'events', '');
}

interface Row extends Record<string, unknown> {
  seq: string;
  data: { writer: number; n: number };
}

describe('sequence_outbox', () => {
  it('is in the last migration that defines it as it stands in its file', async () => {
    const own = await readFile(resolve(import.meta.dirname, 'sql/sequence-outbox.sql'), 'utf8');
    const begins = 'create or replace function sequence_outbox(';
    const names = (await readdir(migrationsFolder)).filter((name) => name.endsWith('.sql')).toSorted();
    const texts = await Promise.all(
      names.map(async (name) => readFile(resolve(migrationsFolder, name), 'utf8')),
    );
    expect(own).toContain(begins);
    expect(texts.findLast((text) => text.includes(begins))).toContain(own.slice(own.indexOf(begins)).trim());
  });

  it('numbers what 8 writers publish, over 3 notifiers, in one order without gaps', async () => {
    const ranges: string[] = [];
    test.listener.on('events', (items) => ranges.push(...items));
    await test.listener.ready();
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      const database = { ...test.database, notifier: notifiers[writer % notifiers.length] };
      for (let first = 0; first < EVENTS_PER_WRITER; first += PER_TRANSACTION) {
        await transaction(database, async (tx) => {
          for (let n = first; n < first + PER_TRANSACTION; n += 1) await publish(tx, 'test', { writer, n });
        });
      }
    });
    await Promise.all(writers);
    await Promise.all(notifiers.map(async (notifier) => notifier.sequenceNow()));

    const { rows } = await test.database.db.execute<Row>(sql`select seq, data from events order by seq`);
    const total = WRITERS * EVENTS_PER_WRITER;
    expect(rows.map(({ seq }) => Number(seq))).toEqual(Array.from({ length: total }, (_, at) => at + 1));
    for (let writer = 0; writer < WRITERS; writer += 1) {
      const own = rows.filter(({ data }) => data.writer === writer).map(({ data }) => data.n);
      expect(own).toEqual(Array.from({ length: EVENTS_PER_WRITER }, (_, at) => at));
    }
    // What listeners were told covers it all, once.
    const covered = () =>
      ranges.flatMap((range) => {
        const [from = 0, to = 0] = range.split('-').map(Number);
        return Array.from({ length: to - from + 1 }, (_, at) => from + at);
      });
    await waitFor(() => covered().length >= total);
    expect(covered().toSorted((a, b) => a - b)).toEqual(rows.map(({ seq }) => Number(seq)));
  });

  it('finds what a process committed and did not live to tell', async () => {
    await transaction({ ...test.database, notifier: undefined }, async (tx) => publish(tx, 'orphan', {}));
    const found = await waitFor(async () => {
      const { rows } = await test.database.db.execute(sql`select seq from events where type = 'orphan'`);
      return rows[0];
    });
    expect(found).toEqual({ seq: String(WRITERS * EVENTS_PER_WRITER + 1) });
  });

  it('refuses a snapshot that may be older than its lock', async () => {
    const client = await test.database.pool.connect();
    await client.query('begin isolation level repeatable read');
    await expect(client.query('select sequence_outbox(10)')).rejects.toThrow('read committed');
    await client.query('rollback');
    client.release();
  });
});

/** @in-order the agents that are due add up */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { type TestDatabase, cloneDatabase, createAgent, createCompany } from '@acp/testkit';
import { eq, sql } from 'drizzle-orm';
import { dueHeartbeatsStatement } from './heartbeat.ts';
import { dueHeartbeats } from './index.ts';

const { agents } = schema;
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);

// A separate database: the timer looks at the agents of the whole instance.
let clone: TestDatabase;
let database: Database;
beforeAll(async () => {
  clone = await cloneDatabase('heartbeat');
  database = clone.database;
});
afterAll(async () => clone.close());

const beats = { heartbeat_enabled: true, heartbeat_interval_sec: 60 };

async function nextBeat(agent_id: string): Promise<number> {
  const [row] = await database.db.select().from(agents).where(eq(agents.id, agent_id));
  return (row!.next_heartbeat_at!.getTime() - Date.now()) / 1000;
}

describe('dueHeartbeats', () => {
  it('keeps the phase of a beat that is on time, and begins a new one after downtime', async () => {
    const company = await createCompany(database.db);
    const onTime = await createAgent(database.db, company, { ...beats, next_heartbeat_at: ago(20) });
    const late = await createAgent(database.db, company, { ...beats, next_heartbeat_at: ago(3600) });
    const due = await dueHeartbeats(database.db, 10);
    expect(due.map((each) => each.agent_id).toSorted()).toEqual([onTime.id, late.id].toSorted());
    expect(Math.abs((await nextBeat(onTime.id)) - 40)).toBeLessThan(5);
    expect(await nextBeat(late.id)).toBeGreaterThan(55);
    expect(await nextBeat(late.id)).toBeLessThan(76);
    expect(await dueHeartbeats(database.db, 10)).toEqual([]);
  });

  it('passes over paused, unapproved, terminated and trashed agents and those of trashed companies', async () => {
    const company = await createCompany(database.db);
    const trashed = await createCompany(database.db, { deleted_at: new Date() });
    const due = { ...beats, next_heartbeat_at: ago(5) };
    const resting: { id: string }[] = [];
    for (const status of ['paused', 'pending_approval', 'terminated'])
      resting.push(await createAgent(database.db, company, { ...due, status }));
    await createAgent(database.db, company, { ...due, deleted_at: new Date() });
    const ofTrashed = await createAgent(database.db, trashed, due);
    expect(await dueHeartbeats(database.db, 10)).toEqual([]);
    // Advanced all the same; otherwise they would come first in every batch.
    for (const { id } of [...resting, ofTrashed]) expect(await nextBeat(id)).toBeGreaterThan(0);
  });

  it('gives an agent to one of two schedulers that ask at once, and lets neither wait', async () => {
    const company = await createCompany(database.db);
    for (let i = 0; i < 4; i += 1)
      await createAgent(database.db, company, { ...beats, next_heartbeat_at: ago(5) });
    await transaction(database, async (first) => {
      expect(await dueHeartbeats(first, 3)).toHaveLength(3);
      await transaction(database, async (second) => {
        expect(await dueHeartbeats(second, 3)).toHaveLength(1);
      });
    });
  });
});

const explain = async () =>
  transaction(database, async (tx) => {
    const { rows } = await tx.execute<{ 'QUERY PLAN': unknown[] }>(
      sql`explain (analyze, buffers, format json) ${dueHeartbeatsStatement(100)}`,
    );
    const { Plan: plan } = rows[0]!['QUERY PLAN'][0] as { Plan: Record<string, unknown> };
    const pages = Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
    return { text: JSON.stringify(plan), pages };
  });

describe('with 100,000 agents that have a heartbeat', () => {
  beforeAll(async () => {
    const company = await createCompany(database.db);
    await database.db.execute(sql`
      insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec, next_heartbeat_at, status)
      select ${company.id}, 'Agent ' || n, 'engineer', 'llm', true, 3600, now() + n * interval '100 milliseconds' + interval '1 hour',
        case when n % 10 = 0 then 'paused' else 'idle' end
      from generate_series(1, 100000) n`);
    await database.db.execute(sql`analyze agents`);
  });

  it('costs the timer an index look-up when none is due', async () => {
    const { text, pages } = await explain();
    expect(text).toContain('agents_beat');
    expect(text).not.toContain(
      'Seq Scan","Parallel Aware":false,"Async Capable":false,"Relation Name":"agents"',
    );
    expect(pages).toBeLessThan(10);
  });

  it('costs the timer a few pages an agent when a batch of 100 is due', async () => {
    await database.db.execute(sql`update agents set next_heartbeat_at = now() - interval '1 second'
      where id in (select id from agents where status = 'idle' and heartbeat_interval_sec = 3600 limit 300)`);
    const { text, pages } = await explain();
    expect(text).toContain('agents_beat');
    // Updating an agent and its indexes; the table alone has thousands of pages.
    expect(pages / 100).toBeLessThan(50);
    expect(await dueHeartbeats(database.db, 100)).toHaveLength(100);
  });
});

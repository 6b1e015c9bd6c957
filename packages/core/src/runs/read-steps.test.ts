import { beforeAll, expect, it } from '@jest/globals';
import type { Actor } from '@acp/contract';
import { type Database, schema } from '@acp/db';
import { createAgent, createCompany, databaseWithQueue, plansOf, stepsOf } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { listRunSteps } from '../index.ts';

let database: Database;
beforeAll(async () => {
  database = await databaseWithQueue();
});

const reader: Actor = { kind: 'system', name: 'tests' };
const usage = { input_tokens: 5, output_tokens: 1, cached_tokens: 0, cost_usd: 0.5 };

async function createRun() {
  const company = await createCompany(database.db);
  const agent = await createAgent(database.db, company);
  const values = { company_id: company.id, agent_id: agent.id, wake_reason: 'manual', adapter_type: 'llm' };
  const [run] = await database.db
    .insert(schema.heartbeat_runs)
    .values({ ...values, status: 'succeeded' })
    .returning();
  return run!;
}

it('counts what follows each prompt, and what came before the first', async () => {
  const run = await createRun();
  const began = Date.parse('2026-01-01T00:00:00Z');
  const entry = (kind: string, payload: unknown = {}) => ({ kind, payload });
  const entries = [
    entry('log', { text: 'starting' }),
    entry('prompt'),
    entry('tool', { name: 'search' }),
    entry('tool', { name: 'result' }),
    entry('tool', ['of any shape']),
    entry('output'),
    entry('output'),
    entry('action', { ok: true }),
    entry('action', { ok: false }),
    entry('log', { usage: { ...usage, input_tokens: 1 } }),
    entry('log', { usage }),
    entry('log', ['usage']),
    entry('prompt'),
    entry('error'),
  ];
  await database.db.insert(schema.run_events).values(
    entries.map((each, place) => ({
      ...each,
      run_id: run.id,
      part: run.transcript_part,
      seq: place + 1,
      created_at: new Date(began + place * 100),
    })),
  );
  const none = {
    verbs: 0,
    failed_verbs: 0,
    tools: 0,
    errors: 0,
    first_output_at: null,
    last_output_at: null,
  };
  expect(await listRunSteps(database.db, reader, run.id)).toEqual([
    { ...none, turn: 0, seq: 1, began_at: began, ended_at: began, usage: null },
    {
      turn: 1,
      seq: 2,
      began_at: began + 100,
      first_output_at: began + 500,
      last_output_at: began + 600,
      ended_at: began + 1100,
      verbs: 2,
      failed_verbs: 1,
      tools: 2,
      errors: 0,
      usage,
    },
    { ...none, turn: 2, seq: 13, began_at: began + 1200, ended_at: began + 1300, errors: 1, usage: null },
  ]);
});

it('sorts turns alone, however long the transcript is', async () => {
  const run = await createRun();
  await database.db.execute(sql`
    insert into run_events (run_id, part, seq, kind, payload)
    select ${run.id}, ${run.transcript_part}, n, case when n % 1000 = 1 then 'prompt' else 'output' end, '{"text": "word"}'
    from generate_series(1, 5000) n`);
  await database.db.execute(sql`analyze run_events`);
  const [plan] = await plansOf(database, async (db) => listRunSteps(db, reader, run.id));
  const sorted = stepsOf(plan!).filter((step) => step['Node Type'] === 'Sort');
  expect(sorted.map((step) => step['Actual Rows']).toSorted((a, b) => b - a)[0]).toBeLessThan(10);
  expect(await listRunSteps(database.db, reader, run.id)).toHaveLength(5);
});

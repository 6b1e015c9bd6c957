import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fakeCliJournal, processesIn } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import type { Facts, ProgramCall } from './facts.ts';

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;

/** Ordered by creation, so that two reads of the same state are equal. */
const statements: Record<
  keyof Omit<
    Facts,
    'company_id' | 'runs_paused' | 'held_scopes' | 'started' | 'ended' | 'written' | 'final_entries'
  >,
  string
> = {
  agents: `select id, name, status, max_concurrent_runs from agents where company_id = $1 and deleted_at is null`,
  issues: `select id, identifier, project_id, stalled_runs, checked_out_by_agent_id, checkout_run_id
    from issues where company_id = $1 order by issue_number`,
  runs: `select id, agent_id, issue_id, status, error, error_category, retry_of_run_id, fence::int, cost_usd::float8,
    ${ms('started_at')} as started_at, ${ms('finished_at')} as finished_at
    from heartbeat_runs where company_id = $1 order by created_at, id`,
  wakeups: `select id, agent_id, issue_id, run_id, depth from wakeup_requests
    where company_id = $1 and status = 'pending' order by created_at, id`,
  // One database, one company: all queues belong to it.
  jobs: `select name, data->>'agent_id' as agent_id from pgboss.job
    where $1::uuid is not null and state in ('created', 'retry', 'active')`,
  actions: `select a.run_id, a.ordinal, a.verb, a.ok, a.mutating, a.args::text as args
    from run_actions a join heartbeat_runs r on r.id = a.run_id where r.company_id = $1`,
  prompts: `select e.run_id, (e.payload->>'turn')::int as turn
    from run_events e join heartbeat_runs r on r.id = e.run_id where r.company_id = $1 and e.kind = 'prompt'`,
  policies: `select p.id, p.scope_id, w.spent_usd::float8, w.reserved_usd::float8
    from budget_policies p join budget_windows w on w.policy_id = p.id
    where p.company_id = $1 and p.action = 'pause'`,
  reservations: `select b.policy_id, b.run_id from budget_reservations b
    join budget_policies p on p.id = b.policy_id where p.company_id = $1`,
  costs: `select ${ms('occurred_at')} as at, cost_usd::float8,
    array_remove(array[company_id, agent_id, project_id], null)::text[] as scopes from cost_events where company_id = $1`,
};

/** Columns that become plain lists. */
const lists = {
  held_scopes: `select p.scope_id::text as item from budget_policies p
    join budget_incidents b on b.policy_id = p.id and b.kind = 'breach' and b.status = 'open'
    where p.company_id = $1 and p.enabled and p.action = 'pause'`,
  // Numbered or not: an event exists from its commit on.
  started: `select data->>'id' as item from (
      select type, company_id, data from events union all select type, company_id, data from outbox) e
    where company_id = $1 and type = 'heartbeat_started'`,
  ended: `select data->>'id' as item from (
      select type, company_id, data from events union all select type, company_id, data from outbox) e
    where company_id = $1 and type = 'heartbeat_completed'`,
  written: `select title || ' ' || coalesce(body_markdown, '') as item from issues where company_id = $1
    union all select c.body_markdown from comments c join issues i on i.id = c.issue_id where i.company_id = $1
    union all select title || ' ' || coalesce(body_markdown, '') from notes where company_id = $1`,
  final_entries: `select e.run_id::text as item from run_events e join heartbeat_runs r on r.id = e.run_id
    where r.company_id = $1 and e.kind = 'status' and e.payload->>'status' in ('succeeded', 'failed', 'cancelled')`,
};

/** One snapshot of the company, the only one in its database. */
export async function readFacts({ database }: TestDatabase, company_id: string): Promise<Facts> {
  const client = await database.pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const facts: Record<string, unknown> = { company_id };
    for (const [name, text] of Object.entries(statements))
      facts[name] = (await client.query(text, [company_id])).rows;
    for (const [name, text] of Object.entries(lists))
      facts[name] = (await client.query<{ item: string }>(text, [company_id])).rows.map(({ item }) => item);
    const paused = await client.query(
      `select 1 from instance_settings where key = 'runs_paused' and value = 'true'`,
    );
    return { ...facts, runs_paused: paused.rows.length > 0 } as unknown as Facts;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** Starts of programs, as they recorded them in the homes of agents. */
export async function readPrograms(
  { database }: TestDatabase,
  homes: readonly string[],
): Promise<ProgramCall[]> {
  const { rows } = await database.pool.query<{ run_id: string }>(
    `select run_id from run_events where kind = 'log' and payload->>'message' like 'the session is unknown to the CLI%'`,
  );
  const forgotten = new Set(rows.map(({ run_id }) => run_id));
  const journals = await Promise.all(homes.map(async (home) => fakeCliJournal(home)));
  return journals.flat().map(({ env }) => {
    const run_id = env.SERVICE_RUN_ID ?? '';
    return { run_id, forgotten: forgotten.delete(run_id) };
  });
}

/** Processes that work in the homes of agents, or name one in their environment. */
export function readProcesses(service_home: string): { pid: number; command: string }[] {
  return processesIn(path.join(service_home, 'companies')).map((pid) => ({ pid, command: commandOf(pid) }));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return 'gone since';
  }
}

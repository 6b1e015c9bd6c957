import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, openDatabase, transaction, type Tx } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import {
  actors,
  cloneDatabase,
  createAgent,
  createCompany,
  createIssue,
  nextInstant,
  testLogger,
} from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { appendRunEvents, type ClaimedRun, claimRun, finishRun, triggerIssue } from '../index.ts';
import { pickRuns } from './pick-run.ts';

const ISSUES = 2000;
const QUEUED = 400;
const BUSY = 400;
/** Agents of which these are: so many that the front of the queue has enough of them. */
const CROWD = 8;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('claim_reads'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());

/** Rows of the table that the work reads. Its connection's figures may still include what it did before. */
async function rowsRead(tx: Tx, table: string, work: () => Promise<void>): Promise<number> {
  const read = async () => {
    const { rows } = await tx.execute<{ read: number }>(sql`
      select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables where relname = ${table}`);
    return rows[0]!.read;
  };
  const before = await read();
  await work();
  return (await read()) - before;
}

describe('a run of a company with thousands of issues, planned when hardly anything was queued', () => {
  it('begins without reading the other issues, and ends without reading what others have queued', async () => {
    const company = await createCompany(database.db);
    const agent = await createAgent(database.db, company);
    const issue = await createIssue(database.db, company, { assignee_agent_id: agent.id });
    await database.db.execute(sql`
      insert into issues (company_id, title, status, priority, issue_number, identifier)
      select ${company.id}, 'Other ' || n, 'todo', 'low', 1000 + n, 'OTHER-' || n from generate_series(1, ${ISSUES}::int) n`);
    await database.db.execute(sql`analyze`);
    await transaction(database, async (tx) => triggerIssue(tx, actors.board(company), issue));
    let run: ClaimedRun | undefined;
    const ofIssues = await transaction(database, async (tx) =>
      rowsRead(tx, 'issues', async () => {
        run = await claimRun(tx, { claimed_by: 'test', lease_sec: 30 });
      }),
    );
    expect(run).toMatchObject({ issue_id: issue.id });
    expect(ofIssues).toBeLessThan(10);
    await database.db.execute(sql`
      insert into agents (company_id, name, role, adapter_type, heartbeat_enabled, heartbeat_interval_sec)
      values (${company.id}, 'Bob', 'engineer', 'llm', false, 300)`);
    await database.db.execute(sql`
      insert into heartbeat_runs (company_id, agent_id, wake_reason, adapter_type, created_at)
      select company_id, id, 'manual', 'llm', now() - interval '1 hour' from agents, generate_series(1, ${QUEUED}::int)
      where name = 'Bob'`);
    const ofRuns = await transaction(database, async (tx) =>
      rowsRead(tx, 'heartbeat_runs', async () => {
        const result = { failure: null, text: 'Done.', usage: null, changed: false };
        expect(await finishRun(tx, run!, result)).toBe(true);
      }),
    );
    expect(ofRuns).toBeLessThan(10);
  });
});

describe('a run on a connection whose plans are from when hardly anything was queued or running', () => {
  // PostgreSQL keeps a plan from the sixth time on.
  const TIMES = 8;

  it('begins and ends without reading all that others have queued or running', async () => {
    const { database: others, url } = await cloneDatabase('claim_plans');
    const connection = openDatabase({
      url,
      max: 1,
      application_name: 'test',
      logger: testLogger(),
      prepared_statements: true,
      prepared_after: 1,
    });
    try {
      const company = await createCompany(others.db);
      const ann = await createAgent(others.db, company);
      const crowd = await Promise.all(
        Array.from({ length: CROWD }, async () =>
          createAgent(others.db, company, { max_concurrent_runs: 2 * BUSY }),
        ),
      );
      await insertRuns(others, crowd, 'succeeded', ISSUES);
      await others.db.execute(sql`vacuum analyze heartbeat_runs`);
      for (let time = 0; time < TIMES; time += 1) {
        await insertRuns(others, [ann], 'queued');
        const first = (await transaction(connection, claim))!;
        expect(await transaction(connection, async (tx) => speak(tx, first))).toBe(true);
        expect(await transaction(connection, async (tx) => finishRun(tx, first, done))).toBe(true);
      }
      await insertRuns(others, [ann], 'queued');
      await nextInstant();
      await insertRuns(others, crowd, 'queued', BUSY);
      const byPick = await readIn(connection, async (tx) =>
        pickRuns(tx, { among: 'front', wait: false, most: 1 }),
      );
      let run: ClaimedRun | undefined;
      const byClaim = await readIn(connection, async (tx) => {
        run = await claim(tx);
      });
      expect(run).toMatchObject({ agent_id: ann.id });
      expect(byPick).toBeLessThan(BUSY / 4);
      expect(byClaim - byPick).toBeLessThan(BUSY / 4);
      await insertRuns(others, [crowd[0]!], 'running', BUSY);
      expect(await readIn(connection, async (tx) => speak(tx, run!))).toBeLessThan(BUSY / 4);
      expect(await readIn(connection, async (tx) => finishRun(tx, run!, done))).toBeLessThan(BUSY / 4);
    } finally {
      await connection.close();
    }
  });

  const done = { failure: null, text: 'Done.', usage: null, changed: false };

  const claim = async (tx: Tx) => claimRun(tx, { claimed_by: 'test', lease_sec: 30 });
  const speak = async (tx: Tx, run: ClaimedRun) =>
    appendRunEvents(tx, run, 1, [{ kind: 'output', payload: { text: 'Well.' } }]);

  async function readIn(connection: Database, work: (tx: Tx) => Promise<unknown>): Promise<number> {
    return transaction(connection, async (tx) =>
      rowsRead(tx, 'heartbeat_runs', async () => {
        await work(tx);
      }),
    );
  }

  async function insertRuns(
    { db }: Database,
    agents: readonly { id: string }[],
    status: string,
    count = agents.length,
  ): Promise<void> {
    await db.execute(sql`
      insert into heartbeat_runs (company_id, agent_id, status, wake_reason, adapter_type)
      select company_id, id, ${status}, 'manual', 'llm' from agents, generate_series(1, ${count / agents.length}::int)
      where id = any(${sql.param(agents.map(({ id }) => id))}::uuid[])`);
  }
});

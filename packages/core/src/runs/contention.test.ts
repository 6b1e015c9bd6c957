import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import { openQueue, type Queue } from '@acp/queue';
import { actors, cloneDatabase, createAgent, createCompany, createIssue } from '@acp/testkit';
import { and, eq, inArray, isNotNull, ne, sql } from 'drizzle-orm';
import {
  cancelRun,
  type ClaimedRun,
  claimRun,
  dispatchAgent,
  finishRun,
  recordAction,
  renewLeases,
  storeRunEvents,
  sweepLostRun,
  triggerIssue,
} from '../index.ts';

const { agents, comments, heartbeat_runs, issues } = schema;
const SLOTS = 8;
const ROUNDS = 25;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  ({ database } = await cloneDatabase('press'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());

const human = actors.board({ id: '00000000-0000-4000-8000-000000000000' });
const live = inArray(heartbeat_runs.status, ['queued', 'running']);

async function lapse(run_id: string | null): Promise<void> {
  await database.db.execute(sql`update heartbeat_runs set lease_expires_at = now() - interval '1 second'
    where status = 'running' and id = coalesce(${run_id}::uuid, id)`);
}

/** Acts as a scheduler with a claimed run. Every seventh is lost half-way. @returns whether it was ours to the end */
async function execute(run: ClaimedRun, round: number, mention: string): Promise<boolean> {
  await storeRunEvents(database.db, {
    lease: run,
    first_seq: 1,
    events: [{ kind: 'output', payload: { text: 'hello' } }],
  });
  if (round % 7 === 3) {
    await lapse(run.run_id);
    return false;
  }
  const action = { ordinal: 1, verb: 'status', args: {}, mutating: true, ok: true };
  await transaction(database, async (tx) => recordAction(tx, run, action));
  const comment = `Done. @"${mention}" please look.`;
  return transaction(database, async (tx) =>
    finishRun(tx, run, { failure: null, text: comment, usage: null, changed: true }),
  );
}

/** Conflicts are valid answers, not failures. */
async function unlessConflict(act: Promise<unknown>): Promise<void> {
  try {
    await act;
  } catch (error) {
    if (!(error instanceof ServiceError && error.kind === 'conflict')) throw error;
  }
}

describe('two schedulers and many people at once', () => {
  it('meet in no deadlock, and leave no live run, checkout or running agent behind', async () => {
    const company = await createCompany(database.db);
    const crew = await Promise.all(
      Array.from({ length: 4 }, async (_, n) =>
        createAgent(database.db, company, { name: `Agent ${n}`, max_concurrent_runs: 2 }),
      ),
    );
    const work: Awaited<ReturnType<typeof createIssue>>[] = [];
    for (let n = 0; n < 10; n += 1)
      work.push(await createIssue(database.db, company, { assignee_agent_id: crew[n % 4]!.id }));
    const held = new Map<string, ClaimedRun>();
    const finished: string[] = [];
    const claimAndExecute = async (scheduler: string, round: number) => {
      const options = { claimed_by: scheduler, lease_sec: 30 };
      const run = await transaction(database, async (tx) => claimRun(tx, options));
      if (run === undefined) return false;
      held.set(run.run_id, run);
      if (await execute(run, round, crew[round % 4]!.name)) finished.push(run.run_id);
      held.delete(run.run_id);
      return true;
    };
    const slot = async (_: unknown, n: number) => {
      for (let round = n; round < n + ROUNDS; round += 1) {
        const issue = work[(round * 7 + n) % work.length]!;
        await unlessConflict(transaction(database, async (tx) => triggerIssue(tx, human, issue)));
        await transaction(database, async (tx) => dispatchAgent(tx, crew[(round + n) % 4]!.id));
        await claimAndExecute(`scheduler-${n % 2}`, round);
        await renewLeases(database.db, `scheduler-${n % 2}`, [...held.values()], 30);
        if (round % 5 === 0) await transaction(database, async (tx) => sweepLostRun(tx));
        if (round % 11 === 0) {
          const [victim] = await database.db.select().from(heartbeat_runs).where(live).limit(1);
          if (victim) await unlessConflict(transaction(database, async (tx) => cancelRun(tx, human, victim)));
        }
      }
    };
    await Promise.all(Array.from({ length: SLOTS }, slot));
    // A renewal by another slot may have happened between the loss and the sweep.
    await lapse(null);
    while (
      (await claimAndExecute('scheduler-0', 0)) ||
      (await transaction(database, async (tx) => sweepLostRun(tx)))
    );
    expect(await database.db.$count(heartbeat_runs, live)).toBe(0);
    expect(await database.db.$count(issues, isNotNull(issues.checked_out_by_agent_id))).toBe(0);
    expect(await database.db.$count(agents, eq(agents.status, 'running'))).toBe(0);
    // Runs that were cancelled at the very end have a summary, too.
    expect(new Set(finished).size).toBe(finished.length);
    expect(finished).toHaveLength(
      await database.db.$count(heartbeat_runs, isNotNull(heartbeat_runs.summary)),
    );
    const calledOff = isNotNull(heartbeat_runs.cancel_requested_at);
    const otherwise = and(calledOff, ne(heartbeat_runs.status, 'cancelled'));
    expect(await database.db.$count(heartbeat_runs, calledOff)).toBeGreaterThan(0);
    expect(await database.db.$count(heartbeat_runs, otherwise)).toBe(0);
    expect(await database.db.$count(comments, isNotNull(comments.run_id))).toBe(
      await database.db.$count(
        heartbeat_runs,
        and(eq(heartbeat_runs.status, 'succeeded'), isNotNull(heartbeat_runs.issue_id)),
      ),
    );
  });
});

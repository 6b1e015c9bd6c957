import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type Database, schema, transaction } from '@acp/db';
import { openQueue, type Queue } from '@acp/queue';
import { cloneDatabase, createAgent, createCompany, createIssue } from '@acp/testkit';
import { and, eq } from 'drizzle-orm';
import { FINDINGS, proposeFindings } from './index.ts';

const { heartbeat_runs } = schema;
/** More than are proposed at once. */
const MANY = 25;

let database: Database;
let queue: Queue;
beforeAll(async () => {
  // Proposals look at all companies.
  ({ database } = await cloneDatabase('findings_of_runs'));
  queue = await openQueue({ database, role: 'client' });
});
afterAll(async () => queue.stop());
beforeEach(async () => {
  await database.db.delete(heartbeat_runs);
});

const propose = async () => transaction(database, async (tx) => proposeFindings(tx, true));

/** An agent that opted in, with runs that ended just now: on one issue, or each on its own. */
async function worked(id: string, runs: number, on: 'one issue' | 'its own issue', status = 'idle') {
  const company = await createCompany(database.db);
  await createAgent(database.db, company, { id, status, auto_extract_findings: true });
  const shared = await createIssue(database.db, company);
  for (let run = 0; run < runs; run += 1)
    await database.db.insert(heartbeat_runs).values({
      company_id: company.id,
      agent_id: id,
      issue_id: on === 'one issue' ? shared.id : (await createIssue(database.db, company)).id,
      status: 'succeeded',
      wake_reason: 'manual',
      adapter_type: 'llm',
      summary: 'It took a while to see why. '.repeat(8),
      finished_at: new Date(),
    });
  return async () =>
    (
      await database.db
        .select()
        .from(heartbeat_runs)
        .where(and(eq(heartbeat_runs.agent_id, id), eq(heartbeat_runs.kind, FINDINGS)))
    ).length;
}

const idOf = (place: string) => `${place.repeat(8)}-0000-4000-8000-${crypto.randomUUID().slice(-12)}`;

it.each([
  ['many runs of an agent that is paused', 'its own issue', 'paused', 0],
  ['many runs on an issue, which are looked at one by one,', 'one issue', 'idle', 1],
] as const)('%s keep nobody else’s findings waiting', async (_what, on, status, own) => {
  const busy = await worked(idOf('0'), MANY, on, status);
  const other = await worked(idOf('f'), 1, 'its own issue');
  // Twice, as the first may have been proposed already.
  for (const admitted of [own + 1, 0]) expect(await propose()).toBe(admitted);
  expect([await busy(), await other()]).toEqual([own, 1]);
});

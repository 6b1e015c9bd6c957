import { expect, it } from '@jest/globals';
import { schema, transaction } from '@acp/db';
import type { Tx } from '@acp/db';
import { createAgent, createCompany, createIssue, databaseWithQueue, queuedJobs } from '@acp/testkit';
import { sweepUnsettled } from './sweep-unsettled.ts';

async function pendingWakeup(
  tx: Tx,
  agent: { id: string; company_id: string },
  issue_id: string | null = null,
) {
  const { id: agent_id, company_id } = agent;
  await tx.insert(schema.wakeup_requests).values({ company_id, agent_id, issue_id, reason: 'manual' });
}

it('what is gone and still has something live is settled again, and nothing else', async () => {
  const database = await databaseWithQueue();
  const tx = database.db;
  const deleted_at = new Date();
  const company = await createCompany(tx);
  const well = await createAgent(tx, company);
  await pendingWakeup(tx, well, (await createIssue(tx, company)).id);
  const trashed = await createAgent(tx, company, { deleted_at });
  await pendingWakeup(tx, trashed);
  const terminated = await createAgent(tx, company, { status: 'terminated' });
  const held = { checked_out_by_agent_id: terminated.id, self_checkout_agent_id: terminated.id };
  await createIssue(tx, company, held);
  const settled = await createAgent(tx, company, { deleted_at });
  const parent = await createIssue(tx, company, { deleted_at });
  const child = await createIssue(tx, company, { parent_issue_id: parent.id });
  const base = { company_id: company.id, agent_id: well.id, wake_reason: 'manual', adapter_type: 'llm' };
  await tx.insert(schema.heartbeat_runs).values({ ...base, issue_id: child.id });
  const gone = await createCompany(tx, { deleted_at });
  await pendingWakeup(tx, await createAgent(tx, gone));

  await transaction(database, async (inner) => sweepUnsettled(inner));
  const count = async (
    job: 'settle-agent' | 'settle-issue' | 'settle-company',
    match: Record<string, unknown>,
  ) => (await queuedJobs(tx, job, match)).length;
  expect({
    trashed: await count('settle-agent', { agent_id: trashed.id }),
    terminated: await count('settle-agent', { agent_id: terminated.id }),
    child: await count('settle-issue', { issue_id: child.id }),
    gone: await count('settle-company', { company_id: gone.id }),
    settled: await count('settle-agent', { agent_id: settled.id }),
    well: await count('settle-agent', { agent_id: well.id }),
    company: await count('settle-company', { company_id: company.id }),
  }).toEqual({ trashed: 1, terminated: 1, child: 1, gone: 1, settled: 0, well: 0, company: 0 });
});

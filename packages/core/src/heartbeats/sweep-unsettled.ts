import { type Tx, liveRunStatuses } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { notTrashed } from '../issues/index.ts';

const MOST = 500;

/**
 * Replaces lost `settle-…` jobs: enqueues another one for agents, issues and companies that are gone and still have live runs,
 * pending wakeups, checkouts or keys of a company's agents. Starts from what is live, which is little, instead of from the
 * trash. Runs whose cancellation is already requested are left to their schedulers, checkouts of runs to their ends.
 * @returns how many jobs were enqueued
 */
export async function sweepUnsettled(tx: Tx): Promise<number> {
  const { rows } = await tx.execute<{ kind: 'agent' | 'issue' | 'company'; id: string }>(sql`
    with live as materialized (
      select agent_id, issue_id, company_id from heartbeat_runs
      where status in ${liveRunStatuses} and cancel_requested_at is null
      union all
      select agent_id, issue_id, company_id from wakeup_requests where status = 'pending'
    )
    (select 'agent' as kind, a.id from agents a
      where (a.deleted_at is not null or a.status = 'terminated') and a.id in (
        select agent_id from live
        union select self_checkout_agent_id from issues where self_checkout_agent_id is not null)
      limit ${MOST})
    union all
    (select 'issue', i.id from issues i
      where i.id in (select issue_id from live) and not (${notTrashed('i')}) limit ${MOST})
    union all
    (select 'company', c.id from companies c
      where c.deleted_at is not null and c.id in (select company_id from live union select company_id from agent_api_keys)
      limit ${MOST})`);
  const idsOf = (kind: string) => rows.filter((row) => row.kind === kind).map(({ id }) => id);
  const agents = idsOf('agent').map((agent_id) => ({ agent_id }));
  const issues = idsOf('issue').map((issue_id) => ({ issue_id }));
  const companies = idsOf('company').map((company_id) => ({ company_id }));
  await enqueueMany(tx, 'settle-agent', agents);
  await enqueueMany(tx, 'settle-issue', issues);
  await enqueueMany(tx, 'settle-company', companies);
  return rows.length;
}

import type { ClaimedRun } from '@acp/core';
import { schema, type Tx } from '@acp/db';
import { newId } from '@acp/kernel';
import { actors, createAgent, createCompany, createIssue } from './factories.ts';

/** Creates a run of Ada on her issue, in the state a claim leaves it in, plus a colleague and another issue. */
export async function createRunningRun(
  tx: Tx,
  options: { permissions?: Record<string, boolean>; adapter_type?: string; created_by_user_id?: string } = {},
) {
  const { permissions = {}, adapter_type = 'llm', created_by_user_id } = options;
  const company = await createCompany(tx);
  const ada = await createAgent(tx, company, { name: 'Ada', permissions, status: 'running', adapter_type });
  const grace = await createAgent(tx, company, { name: 'Grace Hopper' });
  const run_id = newId();
  const held = { checked_out_by_agent_id: ada.id, checked_out_at: new Date(), checkout_run_id: run_id };
  const mine = { assignee_agent_id: ada.id, title: 'Own work', ...held };
  const own = await createIssue(tx, company, { ...mine, ...(created_by_user_id && { created_by_user_id }) });
  const other = await createIssue(tx, company, { title: 'Other work', status: 'backlog' });
  const lease = { company_id: company.id, fence: 1 };
  const base = { agent_id: ada.id, issue_id: own.id, wake_reason: 'manual', adapter_type };
  const claim = { status: 'running', claimed_by: 'test', lease_expires_at: new Date(Date.now() + 60_000) };
  const subject = { subject_type: 'issue', subject_id: own.id, live_key: `issue:${own.id}` };
  const started_at = new Date();
  await tx
    .insert(schema.heartbeat_runs)
    .values({ id: run_id, ...lease, ...base, ...claim, ...subject, started_at });
  const run: ClaimedRun = {
    run_id,
    ...lease,
    ...base,
    trigger_detail: null,
    retry_of_run_id: null,
    traceparent: null,
    kind: 'heartbeat',
    subject_id: own.id,
    payload: {},
    audience: { topic: `issue:${own.id}`, admins_only: false, private_to_user_id: null },
    budgeted: false,
    prices: {},
    api_key: null,
    actor: actors.agent(ada, { run_id, depth: 2 }),
  };
  return { company, ada, grace, own, other, run };
}

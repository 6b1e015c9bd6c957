/**
 * Effects of deletions on slices further down the list, in the jobs `settle-agent`, `settle-issue` and `settle-company`:
 * repeating them changes nothing, and they leave alone what has been restored in the meantime. Checkouts are locked before
 * runs, and runs before wakeups, as in a claim; where the agent is locked there is none.
 */
import type { Tx } from '@acp/db';
import { enqueueMany } from '@acp/queue';
import { sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { hasAgentEnded, revokeAgentKeys } from '../agents/index.ts';
import { isCompanyTrashed } from '../companies/index.ts';
import {
  findIssue,
  issueAndDescendants,
  releaseHeldBy,
  enqueueSettling,
  unblockOutside,
} from '../issues/index.ts';
import { cancelRuns, lockLiveRuns } from '../runs/index.ts';
import { cancelWakeups, requestWakeups } from '../wakeups/index.ts';

const scheduler = systemActor('scheduler');

/** After an agent was moved to the trash or terminated: releases its checkouts, cancels its wakeups and live runs. */
export async function settleAgent(tx: Tx, agent_id: string): Promise<void> {
  if (!(await hasAgentEnded(tx, agent_id))) return;
  await releaseHeldBy(tx, scheduler, agent_id);
  await cancelWakeups(tx, { agent_id });
  const changes = await cancelRuns(tx, sql`r.agent_id = ${agent_id}`, 'agent was deleted');
  await recordChanges(tx, scheduler, changes);
  await settleTreeOf(tx, agent_id);
}

/**
 * After an issue was moved to the trash: stops all work on it and on its descendants, which are absent along with it, and frees
 * what these held up.
 */
export async function settleIssue(tx: Tx, issue_id: string): Promise<void> {
  if (await findIssue(tx, issue_id)) return;
  const issue_ids = (await issueAndDescendants(tx, issue_id)).map(({ id }) => id);
  const freed = await unblockOutside(tx, issue_id, issue_ids);
  const which = sql`r.issue_id in (select value::uuid from jsonb_array_elements_text(${JSON.stringify(issue_ids)}::jsonb))`;
  await lockLiveRuns(tx, which);
  await cancelWakeups(tx, { issue_ids });
  await requestWakeups(tx, scheduler, freed.wakeups);
  const changes = await cancelRuns(tx, which, 'issue was deleted');
  await recordChanges(tx, scheduler, [...changes, ...freed.changes]);
  await enqueueSettling(tx, issue_ids);
}

/** Sub-agents are a later slice: only their table is read. */
async function settleTreeOf(tx: Tx, agent_id: string): Promise<void> {
  const { rows } = await tx.execute<{ agent_id: string }>(sql`
    select root_agent_id as agent_id from subagents
    where (agent_id = ${agent_id} or parent_agent_id = ${agent_id}) and ended_at is null
    union
    select root_agent_id from subagent_waits where agent_id = ${agent_id}`);
  await enqueueMany(tx, 'settle-subagents', rows);
}

/** After a company was moved to the trash: revokes its agents' keys for good, cancels its live runs and wakeups. */
export async function settleCompany(tx: Tx, company_id: string): Promise<void> {
  if (!(await isCompanyTrashed(tx, company_id))) return;
  await revokeAgentKeys(tx, { company_id });
  const which = sql`r.company_id = ${company_id}`;
  await lockLiveRuns(tx, which);
  await cancelWakeups(tx, { company_id });
  const changes = await cancelRuns(tx, which, 'company was deleted');
  await recordChanges(tx, scheduler, changes);
}

import { type AgentActor, endedTaskStates } from '@acp/contract';
import type { Tx } from '@acp/db';
import { conflict, notFound } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { findIssue, updateIssue } from '../issues/index.ts';
import { cancelRuns } from '../runs/index.ts';
import { clientActor } from './client.ts';
import { readTask } from './read-tasks.ts';

/**
 * Cancels the issue and its runs.
 * @param again whether a task that is already cancelled may be cancelled again, which changes nothing
 * @throws notFound, conflict if the task has ended
 */
export async function cancelTask(tx: Tx, agent: AgentActor, id: string, again: boolean): Promise<void> {
  const client = clientActor(agent);
  const task = await readTask(tx, agent.agent_id, id);
  const issue = task && (await findIssue(tx, task.id));
  if (!issue) throw notFound();
  if (task.state === 'canceled' && again) return;
  if (endedTaskStates.includes(task.state)) throw conflict(`the task is ${task.state}`);
  await updateIssue(tx, client, issue, { status: 'cancelled' });
  const called_off = await cancelRuns(tx, sql`r.issue_id = ${issue.id}`, 'cancelled by A2A client');
  await recordChanges(tx, client, called_off);
}

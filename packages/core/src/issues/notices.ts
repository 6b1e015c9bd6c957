/** Notifications to admins about issues that wait for a person (decisions 2, 7.24, 8.2). */
import type { Actor } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { and, eq } from 'drizzle-orm';
import { type Change, humanActor } from '../activity/index.ts';
import { MAX_STALLED_RUNS } from '../wakeups/index.ts';
import type { IssueRow } from './rows.ts';

const { agents } = schema;

type NoticedIssue = Pick<
  IssueRow,
  'id' | 'company_id' | 'identifier' | 'title' | 'status' | 'blocked_reason' | 'assignee_agent_id'
>;

/**
 * The notice of an issue that has just become `blocked`, if the agent that blocked it, or else its assignee, has
 * `blocked_notify_enabled`. None for a human's action: a human who blocks an issue knows about it.
 */
export async function blockedNotice(
  tx: Tx,
  actor: Actor,
  before: { status: string },
  issue: NoticedIssue,
): Promise<Change[]> {
  if (issue.status !== 'blocked' || before.status === 'blocked') return [];
  if (humanActor(actor)) return [];
  const agent_id = actor.kind === 'agent' ? actor.agent_id : issue.assignee_agent_id;
  if (agent_id === null) return [];
  const [agent] = await tx
    .select({ name: agents.name })
    .from(agents)
    .where(and(eq(agents.id, agent_id), eq(agents.blocked_notify_enabled, true)));
  if (!agent) return [];
  const reason = issue.blocked_reason === null ? '' : `: ${issue.blocked_reason}`;
  return [notice(issue, 'issue_blocked', `${issue.identifier} of ${agent.name} is blocked${reason}`)];
}

/** The notice of the run that made the loop breaker stop waking agents for the issue; later runs add none. */
export function stalledNotice(issue: NoticedIssue & { stalled_runs: number }): Change[] {
  if (issue.stalled_runs !== MAX_STALLED_RUNS) return [];
  const message = `${issue.identifier} needs a person: ${MAX_STALLED_RUNS} runs in a row changed nothing`;
  return [notice(issue, 'issue_stalled', message)];
}

function notice(issue: NoticedIssue, topic: string, message: string): Change {
  const entity = { entity_type: 'issue', entity_id: issue.id };
  return {
    company_id: issue.company_id,
    ...entity,
    event: { type: 'notification', data: { topic, level: 'warning', message, ...entity } },
  };
}

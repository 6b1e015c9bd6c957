import type { Actor, CreateExecutionDecision, ExecutionDecision } from '@acp/contract';
import { newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { and, eq } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { type IssueRow, issueUpdated } from '../issues/index.ts';

const { execution_decisions } = schema;

function presentDecision(row: typeof execution_decisions.$inferSelect): ExecutionDecision {
  return {
    id: row.id,
    company_id: row.company_id,
    issue_id: row.issue_id,
    decision_type: row.decision_type as ExecutionDecision['decision_type'],
    reason: row.reason,
    metadata: row.metadata as Record<string, unknown>,
    created_by_agent_id: row.created_by_agent_id,
    created_by_user_id: row.created_by_user_id,
    created_at: row.created_at,
  };
}

/** Newest first; at most 1,000 or 4 MB unless a limit is given. Throws `invalid` for a bad cursor. */
export async function listExecutionDecisions(
  tx: Tx,
  issue: IssueRow,
  query: PageRequest,
): Promise<Page<ExecutionDecision>> {
  const page = newestFirst(execution_decisions.created_at, execution_decisions.id, query, null);
  const rows = tx
    .select()
    .from(execution_decisions)
    .where(and(eq(execution_decisions.issue_id, issue.id), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, (row) => ({ at: row.created_at, id: row.id }), presentDecision);
}

export async function createExecutionDecision(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: CreateExecutionDecision,
): Promise<ExecutionDecision> {
  await assertRoom(tx, 'execution_decisions', issue.id);
  const author = actorColumns(actor);
  const [row] = await tx
    .insert(execution_decisions)
    .values({
      company_id: issue.company_id,
      issue_id: issue.id,
      decision_type: input.decision_type,
      reason: input.reason,
      metadata: input.metadata ?? {},
      created_by_agent_id: author.agent_id,
      created_by_user_id: author.user_id,
    })
    .returning();
  const details = { issue_id: issue.id, decision_type: input.decision_type };
  await recordChanges(tx, actor, [
    {
      ...issueUpdated(issue, 'execution_decision.created', details),
      entity_type: 'execution_decision',
      entity_id: row!.id,
    },
  ]);
  return presentDecision(row!);
}

import type { Actor, CreateIssue, Issue } from '@acp/contract';
import type { Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { refuseUsedNumber, takeIssueNumbers } from '../companies/index.ts';
import { allKnown, assertKnown, knownReferences } from '../trash/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { assertMayAssign, isActionable } from './policy.ts';
import { presentIssue, summarizeIssue } from './present.ts';
import { toIssueRow } from './rows.ts';

/** The origin of an issue that no one filed by hand: a routine, a sub-agent, an import. */
export interface IssueOrigin {
  kind: string;
  id: string | null;
}

/**
 * Creates an issue with the next number of its company and wakes the assignee if there is something to do. The default
 * status is `todo`: issues are filed to be worked on; use `backlog` otherwise. One statement checks the references and
 * inserts; a refused create leaves a gap in the numbers.
 * Throws `invalid` for an unknown reference, `forbidden` for an agent that may not assign, `notFound` without company.
 */
export async function createIssue(
  tx: Tx,
  actor: Actor,
  companyId: string,
  input: CreateIssue,
  origin: IssueOrigin = defaultOrigin(actor),
): Promise<Issue> {
  if (input.assignee_agent_id) assertMayAssign(actor);
  const status = input.status ?? 'todo';
  const author = actorColumns(actor);
  const blocked = status === 'blocked';
  const number = await takeIssueNumbers(tx, companyId, 1);
  if (number === undefined) throw notFound();
  const inserting = tx.execute(sql`
    with checked as materialized (select ${knownReferences('issues', companyId, input)}),
    numbered as (
      select c.identifier_prefix, ${number}::int as number from companies c, checked
      where c.id = ${companyId} and c.deleted_at is null and ${allKnown('issues')}
    ),
    made as (
      insert into issues (company_id, project_id, goal_id, parent_issue_id, title, body_markdown, status, priority,
        assignee_agent_id, origin_kind, origin_id, identifier, issue_number, blocked_at, blocked_by_agent_id,
        created_by_agent_id, created_by_user_id)
      select ${companyId}::uuid, ${input.project_id ?? null}::uuid, ${input.goal_id ?? null}::uuid,
        ${input.parent_issue_id ?? null}::uuid, ${input.title}, ${input.body_markdown ?? null}, ${status},
        ${input.priority ?? 'medium'}, ${input.assignee_agent_id ?? null}::uuid, ${origin.kind}, ${origin.id},
        identifier_prefix || '-' || number, number, case when ${blocked} then now() end,
        case when ${blocked} then ${author.agent_id}::uuid end, ${author.agent_id}::uuid, ${author.user_id}::uuid
      from numbered
      returning *
    )
    select checked.*, made.* from checked left join made on true`);
  const { rows } = await inserting.catch(refuseUsedNumber);
  const raw = rows[0] ?? {};
  assertKnown('issues', raw);
  if (raw.id === null || raw.id === undefined) throw notFound();
  const issue = toIssueRow(raw);
  if (issue.assignee_agent_id !== null && isActionable(issue.status))
    await requestWakeups(tx, actor, [
      {
        company_id: companyId,
        agent_id: issue.assignee_agent_id,
        issue_id: issue.id,
        reason: 'assignment',
      },
    ]);
  await recordChanges(tx, actor, [
    {
      company_id: companyId,
      action: 'issue.created',
      entity_type: 'issue',
      entity_id: issue.id,
      details: { identifier: issue.identifier, title: issue.title, status: issue.status },
      event: { type: 'issue_created', data: summarizeIssue(issue) },
    },
  ]);
  return presentIssue(issue);
}

function defaultOrigin(actor: Actor): IssueOrigin {
  return actor.kind === 'agent' ? { kind: 'agent', id: actor.run_id } : { kind: 'manual', id: null };
}

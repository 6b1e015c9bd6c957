import type { Actor, CreateIssue, Issue, IssueStatus } from '@acp/contract';
import { fixedForms, together, type Tx } from '@acp/db';
import { newId, notFound } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { refuseUsedNumber, takeIssueNumbers } from '../companies/index.ts';
import { allKnown, assertKnown, knownReferences } from '../trash/index.ts';
import { requestWakeups } from '../wakeups/index.ts';
import { assertMayAssign, isActionable } from './policy.ts';
import { presentIssue, summarizeIssue } from './present.ts';
import { toIssueRow } from './rows.ts';

/** The origin of an issue that no one filed by hand: a routine, a sub-agent, an import. */
interface IssueOrigin {
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
  const number = await takeIssueNumbers(tx, companyId, 1);
  if (number === undefined) throw notFound();
  const id = newId();
  const [rows] = await together(
    insertIssue(tx, {
      ...input,
      id,
      company_id: companyId,
      number,
      status,
      origin,
      author: actorColumns(actor),
    }),
    // Wakes no one for an issue that was not made.
    input.assignee_agent_id && isActionable(status)
      ? requestWakeups(tx, actor, [
          {
            company_id: companyId,
            agent_id: input.assignee_agent_id,
            issue_id: id,
            reason: 'assignment',
          },
        ])
      : undefined,
  ).catch(refuseUsedNumber);
  const raw = rows[0] ?? {};
  assertKnown('issues', raw);
  if (raw.id === null || raw.id === undefined) throw notFound();
  const issue = toIssueRow(raw);
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

const referring = ['project_id', 'goal_id', 'parent_issue_id', 'assignee_agent_id'] as const;

const inserts = fixedForms([
  ...referring,
  'id',
  'company_id',
  'number',
  'title',
  'body_markdown',
  'status',
  'priority',
  'origin_kind',
  'origin_id',
  'agent_id',
  'user_id',
]);

interface Numbered extends CreateIssue {
  id: string;
  company_id: string;
  number: number;
  status: IssueStatus;
  origin: IssueOrigin;
  author: ReturnType<typeof actorColumns>;
}

/** Checks the references and inserts. One row: the checks' results, and the issue's columns, null if it was not made. */
async function insertIssue(
  tx: Tx,
  { origin, author, ...issue }: Numbered,
): Promise<Record<string, unknown>[]> {
  const given = referring.filter((name) => issue[name]);
  const values = {
    id: issue.id,
    company_id: issue.company_id,
    number: issue.number,
    project_id: issue.project_id ?? null,
    goal_id: issue.goal_id ?? null,
    parent_issue_id: issue.parent_issue_id ?? null,
    assignee_agent_id: issue.assignee_agent_id ?? null,
    title: issue.title,
    body_markdown: issue.body_markdown ?? null,
    status: issue.status,
    priority: issue.priority ?? 'medium',
    origin_kind: origin.kind,
    origin_id: origin.id,
    ...author,
  };
  return inserts(tx, given.join(), values, (v) => {
    const named = Object.fromEntries(given.map((name) => [name, v[name]]));
    return sql`
    with checked as materialized (select ${knownReferences('issues', v.company_id, named)}),
    numbered as (
      select c.identifier_prefix, ${v.number}::int as number, ${v.status}::text = 'blocked' as blocked
      from companies c, checked
      where c.id = ${v.company_id} and c.deleted_at is null and ${allKnown('issues')}
    ),
    made as (
      insert into issues (id, company_id, project_id, goal_id, parent_issue_id, title, body_markdown, status, priority,
        assignee_agent_id, origin_kind, origin_id, identifier, issue_number, blocked_at, blocked_by_agent_id,
        created_by_agent_id, created_by_user_id)
      select ${v.id}::uuid, ${v.company_id}::uuid, ${v.project_id}::uuid, ${v.goal_id}::uuid, ${v.parent_issue_id}::uuid,
        ${v.title}, ${v.body_markdown}, ${v.status}, ${v.priority}, ${v.assignee_agent_id}::uuid,
        ${v.origin_kind}, ${v.origin_id}, identifier_prefix || '-' || number, number,
        case when blocked then now() end, case when blocked then ${v.agent_id}::uuid end,
        ${v.agent_id}::uuid, ${v.user_id}::uuid
      from numbered
      returning *
    )
    select checked.*, made.* from checked left join made on true`;
  });
}

function defaultOrigin(actor: Actor): IssueOrigin {
  return actor.kind === 'agent' ? { kind: 'agent', id: actor.run_id } : { kind: 'manual', id: null };
}

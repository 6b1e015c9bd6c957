/** Inserts whole lists for an import, which has checked their references. No wakeups, no events. */
import type { Actor, IssueStatus, Priority, RelationType } from '@acp/contract';
import { rowsOf, schema, type Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { actorColumns } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { refuseUsedNumber, takeIssueNumbers } from '../companies/index.ts';

const { issue_labels, issue_relations, issues, labels } = schema;

interface NewLabel {
  id: string;
  name: string;
  color: string | null;
}

export interface NewIssue {
  id: string;
  title: string;
  body_markdown: string | null;
  status: IssueStatus;
  priority: Priority;
  project_id: string | null;
  goal_id: string | null;
  parent_issue_id: string | null;
  assignee_agent_id: string | null;
  origin_id: string;
  awaiting_input: boolean;
  needs_routing: boolean;
  needs_human_attention: boolean;
  blocked_at: string | null;
  blocked_reason: string | null;
  created_at: string;
}

export async function insertLabels(tx: Tx, company_id: string, rows: readonly NewLabel[]): Promise<void> {
  if (rows.length === 0) return;
  await assertRoom(tx, 'labels', company_id, rows.length);
  const values = rows.map((row) => ({ ...row, company_id }));
  await tx.execute(sql`insert into labels ${rowsOf(labels, values)}`);
}

/** Numbers follow the order of the list. @throws notFound for a company in the trash */
export async function insertIssues(
  tx: Tx,
  actor: Actor,
  company_id: string,
  rows: readonly NewIssue[],
): Promise<void> {
  if (rows.length === 0) return;
  const first = await takeIssueNumbers(tx, company_id, rows.length);
  if (first === undefined) throw notFound();
  const { rows: found } = await tx.execute<{ prefix: string }>(
    sql`select identifier_prefix as prefix from companies where id = ${company_id}`,
  );
  const { user_id } = actorColumns(actor);
  const values = rows.map((row, index) => {
    const issue_number = first + index;
    const identifier = `${found[0]?.prefix}-${issue_number}`;
    const origin = { origin_kind: 'import', created_by_user_id: user_id };
    return { ...row, ...origin, company_id, issue_number, identifier };
  });
  await tx.execute(sql`insert into issues ${rowsOf(issues, values)}`).catch(refuseUsedNumber);
}

export async function insertIssueLabels(
  tx: Tx,
  rows: readonly { issue_id: string; label_id: string }[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.execute(sql`insert into issue_labels ${rowsOf(issue_labels, rows)} on conflict do nothing`);
}

export interface NewRelation {
  source_issue_id: string;
  target_issue_id: string;
  relation_type: RelationType;
}

/** Only for relations among new issues: a cycle through existing ones is impossible. */
export async function insertRelations(
  tx: Tx,
  actor: Actor,
  company_id: string,
  rows: readonly NewRelation[],
): Promise<void> {
  if (rows.length === 0) return;
  const { user_id } = actorColumns(actor);
  const values = rows.map((row) => ({ ...row, company_id, created_by_user_id: user_id }));
  await tx.execute(
    sql`insert into issue_relations ${rowsOf(issue_relations, values)} on conflict do nothing`,
  );
}

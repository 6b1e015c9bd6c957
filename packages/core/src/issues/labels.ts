import type { Actor, Label } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { conflict, isUuid, notFound, said } from '@acp/kernel';
import { and, asc, eq, inArray, sql } from 'drizzle-orm';
import { recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { issueUpdated, presentLabel } from './present.ts';
import type { IssueRow, LabelRow } from './rows.ts';

const { labels, issue_labels } = schema;

async function findLabel(tx: Tx, id: string): Promise<LabelRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx.select().from(labels).where(eq(labels.id, id));
  return row;
}

/** Newest first; at most 1,000 or 4 MB unless a limit is given (decisions 3). */
export async function listLabels(tx: Tx, companyId: string, query: PageRequest): Promise<Page<Label>> {
  const page = newestFirst(labels.created_at, labels.id, query, null);
  const rows = tx
    .select()
    .from(labels)
    .where(and(eq(labels.company_id, companyId), page.where))
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentLabel);
}

/** All labels sorted by name, for people to choose from. */
export async function labelsByName(tx: Tx, companyId: string): Promise<Label[]> {
  const rows = await tx
    .select()
    .from(labels)
    .where(eq(labels.company_id, companyId))
    .orderBy(asc(sql`lower(${labels.name})`), asc(labels.id));
  return rows.map(presentLabel);
}

async function labelsOf(tx: Tx, issueId: string): Promise<Label[]> {
  const rows = await tx
    .select({ label: labels })
    .from(issue_labels)
    .innerJoin(labels, eq(labels.id, issue_labels.label_id))
    .where(eq(issue_labels.issue_id, issueId))
    .orderBy(asc(sql`lower(${labels.name})`), asc(labels.id));
  return rows.map((row) => presentLabel(row.label));
}

/** The labels of several issues, by issue, sorted by name. */
export async function labelsOfIssues(
  tx: Tx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { id: string; name: string }[]>> {
  if (ids.length === 0) return new Map();
  const rows = await tx
    .select({ issue_id: issue_labels.issue_id, id: labels.id, name: labels.name })
    .from(issue_labels)
    .innerJoin(labels, eq(labels.id, issue_labels.label_id))
    .where(inArray(issue_labels.issue_id, [...ids]))
    .orderBy(sql`lower(${labels.name})`, labels.id);
  return Map.groupBy(rows, ({ issue_id }) => issue_id);
}

/** Throws `conflict` if the name is taken, ignoring case. */
export async function createLabel(
  tx: Tx,
  actor: Actor,
  companyId: string,
  input: { name: string; color?: string | null },
): Promise<Label> {
  await assertRoom(tx, 'labels', companyId);
  const name = input.name.trim();
  const [label] = await tx
    .insert(labels)
    .values({ company_id: companyId, name, color: input.color ?? null })
    .onConflictDoNothing()
    .returning();
  if (!label) throw conflict(said`label ${name} already exists`);
  await recordLabel(tx, actor, label, 'label.created');
  return presentLabel(label);
}

/** Also removes it from every issue. */
export async function deleteLabel(tx: Tx, actor: Actor, companyId: string, labelId: string): Promise<void> {
  if (!isUuid(labelId)) throw notFound();
  const [label] = await tx
    .delete(labels)
    .where(and(eq(labels.id, labelId), eq(labels.company_id, companyId)))
    .returning();
  if (!label) throw notFound();
  await recordLabel(tx, actor, label, 'label.deleted');
}

/** Returns the issue's labels. Adding one again changes nothing; another company's label is `notFound`. */
export async function addLabel(tx: Tx, actor: Actor, issue: IssueRow, labelId: string): Promise<Label[]> {
  const label = await findLabel(tx, labelId);
  if (label?.company_id !== issue.company_id) throw notFound();
  const added = await tx
    .insert(issue_labels)
    .values({ issue_id: issue.id, label_id: labelId })
    .onConflictDoNothing()
    .returning();
  if (added.length > 0)
    await recordChanges(tx, actor, [issueUpdated(issue, 'issue.label_added', named(label))]);
  return labelsOf(tx, issue.id);
}

export async function removeLabel(tx: Tx, actor: Actor, issue: IssueRow, labelId: string): Promise<void> {
  const label = await findLabel(tx, labelId);
  const removed = label
    ? await tx
        .delete(issue_labels)
        .where(and(eq(issue_labels.issue_id, issue.id), eq(issue_labels.label_id, labelId)))
        .returning()
    : [];
  if (!label || removed.length === 0) throw notFound();
  await recordChanges(tx, actor, [issueUpdated(issue, 'issue.label_removed', named(label))]);
}

const named = (label: LabelRow) => ({ label_id: label.id, name: label.name });

async function recordLabel(tx: Tx, actor: Actor, label: LabelRow, action: string): Promise<void> {
  await recordChanges(tx, actor, [
    {
      company_id: label.company_id,
      action,
      entity_type: 'label',
      entity_id: label.id,
      details: { name: label.name },
    },
  ]);
}

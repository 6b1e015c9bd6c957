/** A company's issues as they appear in a bundle, with their comments, documents, labels and relations. */
import type { BundleOf } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { asc, eq, type SQL, sql } from 'drizzle-orm';
import { inNoTrash } from '../trash/index.ts';
import type { BundleSlugs } from './bundle-slugs.ts';

const { comments, document_revisions, documents, issue_labels, issue_relations, issues, labels, users } =
  schema;

type Issue = BundleOf<'issues'>;

export interface Names {
  agents: BundleSlugs;
  goals: BundleSlugs;
  projects: BundleSlugs;
  /** Filled by `readIssues`. */
  issues: BundleSlugs;
}

/** With microseconds, so that rows of one transaction keep their order. */
const exact = (column: SQL): SQL<string> =>
  sql<string>`to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** In the order of their numbers, with five statements in all. */
export async function readIssues(tx: Tx, company_id: string, names: Names): Promise<Issue[]> {
  const rows = await tx
    .select({ issue: issues, at: exact(sql`${issues.created_at}`) })
    .from(issues)
    .where(sql`${issues.company_id} = ${company_id} and ${inNoTrash('issues')}`)
    .orderBy(asc(issues.issue_number));
  for (const [index, { issue }] of rows.entries()) names.issues.add(issue.id, `issue ${index + 1}`);
  const [labelled, related, said, written] = [
    await readLabels(tx, company_id),
    await readRelations(tx, company_id, names),
    await readComments(tx, company_id, names),
    await readDocuments(tx, company_id),
  ];
  return rows.map(({ issue, at }) => ({
    slug: names.issues.of(issue.id)!,
    title: issue.title,
    body_markdown: issue.body_markdown,
    status: issue.status as Issue['status'],
    priority: issue.priority as Issue['priority'],
    project: names.projects.of(issue.project_id),
    goal: names.goals.of(issue.goal_id),
    parent: names.issues.of(issue.parent_issue_id),
    assignee: names.agents.of(issue.assignee_agent_id),
    awaiting_input: issue.awaiting_input,
    needs_routing: issue.needs_routing,
    needs_human_attention: issue.needs_human_attention,
    blocked_reason: issue.blocked_reason,
    labels: labelled.get(issue.id) ?? [],
    relations: related.get(issue.id) ?? [],
    comments: said.get(issue.id) ?? [],
    documents: written.get(issue.id) ?? [],
    created_at: at,
  }));
}

function gather<T>(rows: readonly (readonly [issue_id: string, value: T])[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const [issue_id, value] of rows) {
    const list = found.get(issue_id);
    if (list) list.push(value);
    else found.set(issue_id, [value]);
  }
  return found;
}

async function readLabels(tx: Tx, company_id: string) {
  const rows = await tx
    .select({ issue_id: issue_labels.issue_id, name: labels.name })
    .from(issue_labels)
    .innerJoin(labels, eq(labels.id, issue_labels.label_id))
    .where(eq(labels.company_id, company_id))
    .orderBy(sql`lower(${labels.name})`);
  return gather(rows.map(({ issue_id, name }) => [issue_id, name] as const));
}

async function readRelations(tx: Tx, company_id: string, names: Names) {
  const rows = await tx
    .select({
      source: issue_relations.source_issue_id,
      target: issue_relations.target_issue_id,
      type: issue_relations.relation_type,
    })
    .from(issue_relations)
    .innerJoin(issues, eq(issues.id, issue_relations.target_issue_id))
    .where(eq(issue_relations.company_id, company_id))
    .orderBy(asc(issues.issue_number), asc(issue_relations.relation_type));
  return gather(
    rows.flatMap(({ source, target, type }) => {
      const slug = names.issues.of(target);
      return slug === null ? [] : [[source, { type: type as RelationType, target: slug }] as const];
    }),
  );
}
type RelationType = NonNullable<Issue['relations']>[number]['type'];

async function readComments(tx: Tx, company_id: string, names: Names) {
  const rows = await tx
    .select({
      issue_id: comments.issue_id,
      agent_id: comments.author_agent_id,
      label: comments.author_label,
      user: users.display_name,
      body_markdown: comments.body_markdown,
      is_pinned: comments.is_pinned,
      at: exact(sql`${comments.created_at}`),
    })
    .from(comments)
    .leftJoin(users, eq(users.id, comments.author_user_id))
    .where(eq(comments.company_id, company_id))
    .orderBy(asc(comments.created_at), asc(comments.id));
  return gather(
    rows.map(({ issue_id, agent_id, label, user, body_markdown, is_pinned, at }) => {
      const author = names.agents.of(agent_id);
      const author_name = author === null ? (user ?? label) : null;
      return [issue_id, { author, author_name, body_markdown, is_pinned, created_at: at }] as const;
    }),
  );
}

async function readDocuments(tx: Tx, company_id: string) {
  const rows = await tx
    .select({
      issue_id: documents.issue_id,
      key: documents.key,
      title: documents.title,
      body: document_revisions.body,
    })
    .from(documents)
    .innerJoin(document_revisions, eq(document_revisions.id, documents.latest_revision_id))
    .where(eq(documents.company_id, company_id))
    .orderBy(asc(documents.key));
  return gather(rows.map(({ issue_id, ...document }) => [issue_id, document] as const));
}

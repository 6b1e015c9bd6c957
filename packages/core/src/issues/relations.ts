import type { Actor, Relation, RelationType } from '@acp/contract';
import { byCreation, newestFirst, type Page, type PageRequest, schema, type Tx } from '@acp/db';
import { invalid, isUuid, notFound } from '@acp/kernel';
import { and, type SQL, sql } from 'drizzle-orm';
import { actorColumns, recordChanges } from '../activity/index.ts';
import { assertRoom } from '../bounds/index.ts';
import { issueUpdated, presentRelation } from './present.ts';
import { type IssueRow, notTrashed, type RelationRow, selectIssues, toRelationRow } from './rows.ts';

const { issue_relations } = schema;

// First half of a two-part advisory key; the second is the company. Changes to a company's graph are serialised.
const GRAPH_LOCK = 1_936_286_817;

/** Undefined if absent or if either end is in the trash. */
export async function findRelation(tx: Tx, id: string): Promise<RelationRow | undefined> {
  if (!isUuid(id)) return undefined;
  const [row] = await tx
    .select()
    .from(issue_relations)
    .where(sql`${issue_relations.id} = ${id} and ${bothEnds}`);
  return row;
}

/** Relations that start or end at the issue, newest first; at most 1,000 or 4 MB unless a limit is given (decisions 3). */
export async function listRelations(tx: Tx, issue: IssueRow, query: PageRequest): Promise<Page<Relation>> {
  const page = newestFirst(issue_relations.created_at, issue_relations.id, query, null);
  const rows = tx
    .select()
    .from(issue_relations)
    .where(
      and(
        sql`(${issue_relations.source_issue_id} = ${issue.id} or ${issue_relations.target_issue_id} = ${issue.id}) and ${bothEnds}`,
        page.where,
      ),
    )
    .orderBy(...page.order)
    .limit(page.limit);
  return page.read(tx, rows, byCreation, presentRelation);
}

const bothEnds = sql`not exists (
  select from issues gone where gone.id in (${issue_relations.source_issue_id}, ${issue_relations.target_issue_id})
    and gone.deleted_at is not null)`;

/**
 * Relates two issues of one company, by default with `relates_to`. Throws `invalid` for relating an issue to itself, an unknown
 * issue (including another company's) and a cycle of `blocks` and `depends_on`. @returns the relation that there is already, with
 * `created` false, even if the issues were named the other way round for `relates_to`
 */
export async function createRelation(
  tx: Tx,
  actor: Actor,
  issue: IssueRow,
  input: { target_issue_id: string; relation_type?: RelationType },
): Promise<{ relation: Relation; created: boolean }> {
  const type = input.relation_type ?? 'relates_to';
  // Compare ids like the database does: case-insensitively.
  const target = input.target_issue_id.toLowerCase();
  if (target === issue.id) throw invalid('an issue cannot be related to itself');
  // Two inserts that together close a cycle would each miss the other's half: the second waits, so that its statement sees
  // the first one's row.
  await tx.execute(sql`select pg_advisory_xact_lock(${GRAPH_LOCK}, hashtext(${issue.company_id}))`);
  const { rows } = await tx.execute(insertUnlessCycle(issue, target, type, actorColumns(actor)));
  const made = rows[0] ?? {};
  if (made.known !== true) throw invalid('target_issue_id: unknown issue');
  if (made.cycle === true) throw invalid('the issues would block each other in a cycle');
  const relation = presentRelation(toRelationRow(made));
  if (made.created !== true) return { relation, created: false };
  await assertRoom(tx, 'relations', issue.id, 0);
  await recordChanges(tx, actor, [
    issueUpdated(issue, 'issue.relation_added', {
      relation_id: relation.id,
      target_issue_id: target,
      relation_type: type,
    }),
  ]);
  return { relation, created: true };
}

/**
 * Edges lead from the blocker to the blocked: `blocks` from source to target, `depends_on` from target to source. A new edge
 * closes a cycle if its end already leads back to its beginning; except by what the same issue says about the same other one:
 * it may both block it and depend on it, as each type of relation is a statement of its own.
 */
function insertUnlessCycle(
  issue: IssueRow,
  target: string,
  type: RelationType,
  author: { agent_id: string | null; user_id: string | null },
): SQL {
  const [first, second] = type === 'depends_on' ? [target, issue.id] : [issue.id, target];
  const ofThisPair = sql`(r.source_issue_id = ${issue.id} and r.target_issue_id = ${target})`;
  return sql`
    with recursive blocked as (
      select ${second}::uuid as id where ${type} <> 'relates_to'
      union
      select next.id from blocked cross join lateral (
        select r.target_issue_id as id from issue_relations r
        where r.source_issue_id = blocked.id and r.relation_type = 'blocks' and not ${ofThisPair}
        union all
        select r.source_issue_id from issue_relations r
        where r.target_issue_id = blocked.id and r.relation_type = 'depends_on' and not ${ofThisPair}) next
    ),
    checked as materialized (
      select
        exists (select from issues i where i.id = ${target} and i.company_id = ${issue.company_id} and ${notTrashed('i')}) as known,
        exists (select from blocked where id = ${first}) as cycle
    ),
    present as materialized (
      select r.* from issue_relations r where r.relation_type = ${type} and (
        (r.source_issue_id = ${issue.id} and r.target_issue_id = ${target})
        or (r.relation_type = 'relates_to' and r.source_issue_id = ${target} and r.target_issue_id = ${issue.id})) limit 1
    ),
    made as (
      insert into issue_relations (company_id, source_issue_id, target_issue_id, relation_type, created_by_agent_id, created_by_user_id)
      select ${issue.company_id}::uuid, ${issue.id}::uuid, ${target}::uuid, ${type}, ${author.agent_id}::uuid, ${author.user_id}::uuid
      from checked where known and not cycle and not exists (select from present)
      returning *
    )
    select checked.known, checked.cycle, found.* from checked left join (
      select true as created, made.* from made union all select false, present.* from present) found on true`;
}

export async function deleteRelation(tx: Tx, actor: Actor, relation: RelationRow): Promise<void> {
  const [source] = await selectIssues(
    tx,
    sql`with gone as (delete from issue_relations where id = ${relation.id} returning source_issue_id)
        select i.* from issues i join gone on gone.source_issue_id = i.id`,
  );
  if (!source) throw notFound();
  await recordChanges(tx, actor, [
    issueUpdated(source, 'issue.relation_removed', {
      relation_id: relation.id,
      target_issue_id: relation.target_issue_id,
      relation_type: relation.relation_type,
    }),
  ]);
}

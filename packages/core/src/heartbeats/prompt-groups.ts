/**
 * Facts that most runs don't have: PostgreSQL spends more on preparing to look for them than on everything else that a prompt
 * needs, so `promptFacts` only asks which exist, and reads those.
 */
import { fixedForms, together, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { filesOfIssue, promptAttachments, textsAwaited } from '../attachments/index.ts';
import { goalChain } from '../goals/index.ts';
import type { ClaimedRun } from '../runs/index.ts';
import type { PromptFacts, PromptIssue } from './prompt-types.ts';

// Limits for the contents of one prompt, in rows.
const RELATED = 50;
const ROSTER = 200;
/** In characters: a description may have a million, and there are two hundred. */
const ROSTER_DESCRIPTION = 1000;
const LAST_SUBAGENTS = 60;

/** An issue as a reference; `x` is its alias. */
const reference = sql`jsonb_build_object('id', x.id, 'identifier', x.identifier, 'title', x.title, 'status', x.status,
  'assignee_name', (select n.name from agents n where n.id = x.assignee_agent_id and n.deleted_at is null))`;

const relations = sql`(
  select jsonb_agg(${reference} || jsonb_build_object('relation',
    case when l.relation_type = 'relates_to' or l.source_issue_id = i.id then l.relation_type
      when l.relation_type = 'blocks' then 'blocked_by' else 'dependency_of' end) order by x.issue_number)
  from (
    select * from issue_relations where source_issue_id = i.id
    union all
    select * from issue_relations where target_issue_id = i.id
    limit ${RELATED}
  ) l join issues x on x.id = case when l.source_issue_id = i.id then l.target_issue_id else l.source_issue_id end
  where x.deleted_at is null)`;

const subagents = sql`(
  with recursive tree as (
    select s.agent_id from subagents s where s.parent_agent_id = a.id and s.parent_issue_id = i.id
    union
    select s.agent_id from tree join subagents s on s.parent_agent_id = tree.agent_id
  )
  select coalesce(jsonb_agg(told order by created_at, agent_id), '[]') from (
    select s.created_at, s.agent_id, jsonb_build_object('name', n.name, 'role', n.role, 'depth', n.subagent_depth,
      'identifier', x.identifier, 'title', x.title, 'status', x.status, 'outcome', s.outcome, 'result', s.result) as told
    from tree join subagents s using (agent_id) join agents n on n.id = s.agent_id join issues x on x.id = s.issue_id
    order by s.created_at desc, s.agent_id limit ${LAST_SUBAGENTS}
  ) newest)`;

/** `when`: whether there is any of it; `columns`: the facts, each under its name in `PromptIssue` or `PromptFacts`. */
interface Group {
  when: SQL;
  columns: SQL;
}

const groups: Record<string, Group> = {
  attachments: {
    when: sql`i.origin_kind = 'subagent' or exists (select from attachments f where f.issue_id = i.id)`,
    columns: sql`${promptAttachments(filesOfIssue(sql`i.id`))} as attachments,
      case when i.origin_kind = 'subagent'
        then ${promptAttachments(filesOfIssue(sql`i.parent_issue_id`))} else '[]' end as parent_attachments,
      ${textsAwaited(filesOfIssue(sql`i.id`))} as texts_awaited,
      (select count(*)::int from attachments f where f.issue_id = i.id) as attachment_count`,
  },
  labels: {
    when: sql`exists (select from issue_labels il where il.issue_id = i.id)`,
    columns: sql`coalesce((select jsonb_agg(l.name order by l.name)
      from issue_labels il join labels l on l.id = il.label_id where il.issue_id = i.id), '[]') as labels`,
  },
  parent: {
    when: sql`i.parent_issue_id is not null`,
    columns: sql`(select ${reference} from issues x where x.id = i.parent_issue_id and x.deleted_at is null) as parent`,
  },
  children: {
    when: sql`exists (select from issues x where x.parent_issue_id = i.id)`,
    columns: sql`coalesce((select jsonb_agg(reference order by issue_number) from (
      select ${reference} as reference, x.issue_number from issues x
      where x.parent_issue_id = i.id and x.deleted_at is null order by x.issue_number limit ${RELATED}) child), '[]') as children`,
  },
  relations: {
    when: sql`exists (select from issue_relations l where l.source_issue_id = i.id)
      or exists (select from issue_relations l where l.target_issue_id = i.id)`,
    columns: sql`coalesce(${relations}, '[]') as relations`,
  },
  goals: {
    when: sql`coalesce(i.goal_id, p.goal_id) is not null`,
    columns: sql`coalesce(${goalChain(sql`i.company_id`, sql`coalesce(i.goal_id, p.goal_id)`)}, '[]') as goals`,
  },
  subagents: {
    when: sql`exists (select from subagents s where s.parent_agent_id = a.id and s.parent_issue_id = i.id)`,
    columns: sql`${subagents} as subagents`,
  },
  spawned_by: {
    when: sql`a.parent_agent_id is not null`,
    columns: sql`(select jsonb_build_object('name', p.name, 'depth', a.subagent_depth)
      from agents p where p.id = a.parent_agent_id) as spawned_by`,
  },
  roster: {
    when: sql`a.role in ('ceo', 'pm', 'triage')`,
    columns: sql`coalesce((
      select jsonb_agg(jsonb_build_object('id', id, 'name', name, 'role', role, 'title', title,
          'description', left(description, ${ROSTER_DESCRIPTION})) order by name, id)
      from (select * from agents o where o.company_id = a.company_id and o.deleted_at is null and o.id <> a.id
        and o.status <> 'terminated' and o.parent_agent_id is null order by o.created_at, o.id limit ${ROSTER}) colleague), '[]') as roster`,
  },
};

type IssueGroups = Pick<
  PromptIssue,
  | 'attachments'
  | 'parent_attachments'
  | 'texts_awaited'
  | 'attachment_count'
  | 'labels'
  | 'parent'
  | 'children'
  | 'relations'
>;
type RunGroups = Pick<PromptFacts, 'goals' | 'subagents' | 'spawned_by' | 'roster'>;

const noneOfIssue = (): IssueGroups => ({
  attachments: [],
  parent_attachments: [],
  texts_awaited: false,
  attachment_count: 0,
  labels: [],
  parent: null,
  children: [],
  relations: [],
});
const noneOfRun = (): RunGroups => ({ goals: [], subagents: [], spawned_by: null, roster: [] });

/** SQL: the names of the groups of which there is something, in a statement `from` these relations. */
export const presentGroups = sql`array_remove(array[${sql.join(
  Object.entries(groups).map(([name, { when }]) => sql`case when ${when} then ${sql.raw(`'${name}'`)} end`),
  sql`, `,
)}], null)`;

/** SQL: agent `a`, its company `c`, issue `i` and project `p`, if any. */
export const runRelations = (
  agent_id: SQL,
  issue_id: SQL,
): SQL => sql`agents a join companies c on c.id = a.company_id
    left join issues i on i.id = ${issue_id}::uuid and i.deleted_at is null
    left join projects p on p.id = i.project_id and p.deleted_at is null
    where a.id = ${agent_id}`;

/** With more groups than this, one statement reads all that there are. */
const MOST_ALONE = 2;

const read = fixedForms(['agent_id', 'issue_id']);

/** Reads the groups; the others are empty. */
export async function readGroups(
  tx: Tx,
  { agent_id, issue_id }: Pick<ClaimedRun, 'agent_id' | 'issue_id'>,
  present: readonly string[],
): Promise<{ issue: IssueGroups; run: RunGroups }> {
  const values = { agent_id, issue_id };
  const statements = present.length > MOST_ALONE ? [Object.keys(groups)] : present.map((name) => [name]);
  const rows = await together(
    ...statements.map(async (names) =>
      read(tx, names.join(), values, (of) => {
        const columns = names.map((name) => groups[name]!.columns);
        return sql`select ${sql.join(columns, sql`, `)} from ${runRelations(sql`${of.agent_id}`, sql`${of.issue_id}`)}`;
      }),
    ),
  );
  const found = Object.assign({}, ...rows.map(([row]) => row)) as Record<string, unknown>;
  return { issue: foundOf(noneOfIssue(), found), run: foundOf(noneOfRun(), found) };
}

function foundOf<T extends object>(none: T, found: Record<string, unknown>): T {
  return Object.fromEntries(
    Object.entries(none).map(([name, value]) => [name, name in found ? found[name] : value]),
  ) as T;
}

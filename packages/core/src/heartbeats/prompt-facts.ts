import { fixedForms, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { filesOfIssue, promptAttachments, textsAwaited } from '../attachments/index.ts';
import { goalChain } from '../goals/index.ts';
import { hasIndex, hasKnowledge, requesterOf } from '../knowledge/index.ts';
import {
  appliedByInterrupted,
  type ClaimedRun,
  companyDefaultProvider,
  failedInPrevious,
} from '../runs/index.ts';
import { outlinedSkills, skillOutlines, type StoredOutline } from '../skills/index.ts';
import type { PromptFacts } from './prompt-types.ts';

// Limits for the contents of one prompt, in characters and rows.
const BODY = 20_000;
const COMMENT = 4000;
const COMMENTS = 30;
const RELATED = 50;
const ROSTER = 200;
const SKILLS = 100;

/** An issue as a reference; `x` is its alias. */
const reference = sql`jsonb_build_object('id', x.id, 'identifier', x.identifier, 'title', x.title, 'status', x.status,
  'assignee_name', (select n.name from agents n where n.id = x.assignee_agent_id and n.deleted_at is null))`;

const goals = goalChain(sql`i.company_id`, sql`coalesce(i.goal_id, p.goal_id)`);

const comments = sql`(
  select jsonb_agg(jsonb_build_object('author_name', author_name, 'body_markdown', body, 'created_at', created_at)
    order by created_at, id)
  from (
    select m.id, m.created_at, left(m.body_markdown, ${COMMENT}) as body,
      coalesce(author.name, writer.display_name, m.author_label, 'unknown') as author_name
    from comments m
    left join agents author on author.id = m.author_agent_id
    left join users writer on writer.id = m.author_user_id
    where m.issue_id = i.id order by m.created_at desc, m.id desc limit ${COMMENTS}
  ) newest)`;

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

const issue = sql`case when i.id is not null then jsonb_build_object(
  'id', i.id, 'identifier', i.identifier, 'title', i.title, 'status', i.status, 'priority', i.priority,
  'body_markdown', left(i.body_markdown, ${BODY}),
  'awaiting_input', i.awaiting_input, 'from_client', i.origin_kind = 'a2a', 'needs_routing', i.needs_routing,
  'assignee_name', (select n.name from agents n where n.id = i.assignee_agent_id and n.deleted_at is null),
  'labels', coalesce((select jsonb_agg(l.name order by l.name)
    from issue_labels il join labels l on l.id = il.label_id where il.issue_id = i.id), '[]'),
  'parent', (select ${reference} from issues x where x.id = i.parent_issue_id and x.deleted_at is null),
  'children', coalesce((select jsonb_agg(reference order by issue_number) from (
    select ${reference} as reference, x.issue_number from issues x
    where x.parent_issue_id = i.id and x.deleted_at is null order by x.issue_number limit ${RELATED}) child), '[]'),
  'relations', coalesce(${relations}, '[]'),
  'attachments', ${promptAttachments(filesOfIssue(sql`i.id`))},
  'parent_attachments', case when i.origin_kind = 'subagent'
    then ${promptAttachments(filesOfIssue(sql`i.parent_issue_id`))} else '[]' end,
  'texts_awaited', ${textsAwaited(filesOfIssue(sql`i.id`))},
  'attachment_count', (select count(*) from attachments f where f.issue_id = i.id),
  'comments', coalesce(${comments}, '[]'),
  'comment_count', (select count(*) from comments m where m.issue_id = i.id)) end`;

const LAST_SUBAGENTS = 60;

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

const spawnedBy = sql`(select jsonb_build_object('name', p.name, 'depth', a.subagent_depth)
  from agents p where p.id = a.parent_agent_id)`;

/** Everything for the prompt of a run, in one statement on one snapshot. Undefined if its agent is gone by now. */
export async function promptFacts(tx: Tx, run: ClaimedRun): Promise<PromptFacts | undefined> {
  const { run_id, issue_id, agent_id, retry_of_run_id } = run;
  const form = issue_id === null ? 'without issue' : 'issue';
  const values = { run_id, issue_id, agent_id, retry_of_run_id };
  const rows = (await facts(tx, form, values, factsStatement(issue_id !== null))) as unknown as StoredFacts[];
  const [found] = rows;
  return found && { ...found, skills: outlinedSkills(found.skills) };
}

const facts = fixedForms(['run_id', 'issue_id', 'agent_id', 'retry_of_run_id']);

function factsStatement(onIssue: boolean): Parameters<typeof facts>[3] {
  return ({ run_id, issue_id, agent_id, retry_of_run_id }) => {
    const before = onIssue
      ? sql`r.issue_id = i.id and r.agent_id = a.id and r.kind = 'heartbeat' and r.id <> ${run_id}`
      : sql`r.id = ${retry_of_run_id}::uuid`;
    return sql`
    select
      jsonb_build_object('id', a.id, 'name', a.name, 'role', a.role, 'title', a.title, 'description', a.description,
        'system_prompt', a.system_prompt, 'adapter_type', a.adapter_type, 'adapter_config', a.adapter_config,
        'provider_id', a.provider_id, 'default_provider_id', ${companyDefaultProvider}, 'model', a.model) as agent,
      (select jsonb_build_object('name', m.name, 'role', m.role) from agents m
        where m.id = a.reports_to and m.deleted_at is null) as manager,
      jsonb_build_object('id', c.id, 'name', c.name) as company,
      ${hasKnowledge(sql`c.id`)} as has_knowledge, ${hasIndex(sql`c.id`)} as has_index,
      coalesce(${goals}, '[]') as goals,
      case when p.id is not null then jsonb_build_object('name', p.name, 'description', p.description, 'repo_url', p.repo_url)
        end as project,
      ${issue} as issue,
      coalesce((select jsonb_agg(jsonb_build_object('reason', w.reason, 'payload', w.payload, 'created_at', w.created_at)
        order by w.created_at, w.id) from wakeup_requests w where w.run_id = ${run_id}), '[]') as wakeups,
      ${appliedByInterrupted(before)} as applied_by_interrupted, ${failedInPrevious(before)} as failed_in_previous_run,
      ${skillOutlines(sql`a.id`, SKILLS)} as skills,
      ${requesterOf(sql`i.id`, sql`a.company_id`)} as requester,
      ${subagents} as subagents, ${spawnedBy} as spawned_by,
      case when a.role in ('ceo', 'pm', 'triage') then coalesce((
        select jsonb_agg(jsonb_build_object('id', id, 'name', name, 'role', role, 'title', title, 'description', description)
          order by name, id)
        from (select * from agents o where o.company_id = a.company_id and o.deleted_at is null and o.id <> a.id
          and o.status <> 'terminated' and o.parent_agent_id is null order by o.created_at limit ${ROSTER}) colleague), '[]') else '[]' end as roster
    from agents a join companies c on c.id = a.company_id
    left join issues i on i.id = ${issue_id}::uuid and i.deleted_at is null
    left join projects p on p.id = i.project_id and p.deleted_at is null
    where a.id = ${agent_id}`;
  };
}

type StoredFacts = { [K in keyof Omit<PromptFacts, 'skills'>]: PromptFacts[K] } & { skills: StoredOutline[] };

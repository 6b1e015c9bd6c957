import { fixedForms, type Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { hasIndex, hasKnowledge, requesterOf } from '../knowledge/index.ts';
import {
  appliedByInterrupted,
  type ClaimedRun,
  companyDefaultProvider,
  failedInPrevious,
} from '../runs/index.ts';
import { outlinedSkills, skillOutlines, type StoredOutline } from '../skills/index.ts';
import { presentGroups, readGroups, runRelations } from './prompt-groups.ts';
import type { PromptFacts } from './prompt-types.ts';

// Limits for the contents of one prompt, in characters and rows.
const BODY = 20_000;
const COMMENT = 4000;
const COMMENTS = 30;
const SKILLS = 100;

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

const issue = sql`case when i.id is not null then jsonb_build_object(
  'id', i.id, 'identifier', i.identifier, 'title', i.title, 'status', i.status, 'priority', i.priority,
  'body_markdown', left(i.body_markdown, ${BODY}),
  'awaiting_input', i.awaiting_input, 'from_client', i.origin_kind = 'a2a', 'needs_routing', i.needs_routing,
  'assignee_name', (select n.name from agents n where n.id = i.assignee_agent_id and n.deleted_at is null),
  'comments', coalesce(${comments}, '[]'),
  'comment_count', (select count(*) from comments m where m.issue_id = i.id)) end`;

/**
 * Everything for the prompt of a run: one statement for what nearly every run has, and one for each group of facts that it says
 * there is. Undefined if its agent is gone by now.
 */
export async function promptFacts(tx: Tx, run: ClaimedRun): Promise<PromptFacts | undefined> {
  const { run_id, issue_id, agent_id, retry_of_run_id } = run;
  const form = issue_id === null ? 'without issue' : 'issue';
  const values = { run_id, issue_id, agent_id, retry_of_run_id };
  const rows = (await core(tx, form, values, factsStatement(issue_id !== null))) as unknown as StoredFacts[];
  const [found] = rows;
  if (found === undefined) return undefined;
  const { groups, issue: own, ...facts } = found;
  const others = await readGroups(tx, run, groups);
  return {
    ...facts,
    ...others.run,
    skills: outlinedSkills(facts.skills),
    issue: own && { ...own, ...others.issue },
  };
}

const core = fixedForms(['run_id', 'issue_id', 'agent_id', 'retry_of_run_id']);

function factsStatement(onIssue: boolean): Parameters<typeof core>[3] {
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
      case when p.id is not null then jsonb_build_object('name', p.name, 'description', p.description, 'repo_url', p.repo_url)
        end as project,
      ${issue} as issue,
      coalesce((select jsonb_agg(jsonb_build_object('reason', w.reason, 'payload', w.payload, 'created_at', w.created_at)
        order by w.created_at, w.id) from wakeup_requests w where w.run_id = ${run_id}), '[]') as wakeups,
      ${appliedByInterrupted(before)} as applied_by_interrupted, ${failedInPrevious(before)} as failed_in_previous_run,
      ${skillOutlines(sql`a.id`, SKILLS)} as skills,
      ${requesterOf(sql`i.id`, sql`a.company_id`)} as requester,
      ${presentGroups} as groups
    from ${runRelations(sql`${agent_id}`, sql`${issue_id}`)}`;
  };
}

type StoredFacts = Omit<PromptFacts, 'skills' | 'issue'> & {
  skills: StoredOutline[];
  issue: NonNullable<PromptFacts['issue']> | null;
  groups: string[];
};

/** Entities of a bundle as rows of their tables, with defaults for absent fields. Pure. */
import type { BundleOf, CompanyBundle } from '@acp/contract';
import type { CompanyRow } from '../companies/index.ts';
import { defaultPrompt, type NewAgent } from '../agents/index.ts';
import type { NewComment } from '../comments/index.ts';
import type { NewDocument } from '../documents/index.ts';
import type { NewGoal } from '../goals/index.ts';
import type { NewIssue, NewRelation } from '../issues/index.ts';
import type { NewNote } from '../notes/index.ts';
import type { NewProject } from '../projects/index.ts';
import type { NewRoutine, NewTrigger } from '../routines/index.ts';
import type { BundleIds, WithId } from './bundle-ids.ts';
import { originOf } from './match-existing.ts';

export function agentRows(ids: BundleIds, company: CompanyRow): NewAgent[] {
  return ids.fresh('agents').map((agent) => ({
    id: agent.id,
    name: agent.name,
    role: agent.role,
    title: agent.title ?? null,
    description: agent.description ?? null,
    system_prompt: agent.system_prompt ?? defaultPrompt(agent.role),
    reports_to: ids.ref('agents', agent.reports_to),
    provider_id: ids.ref('providers', agent.provider_label),
    model: agent.model ?? null,
    adapter_type: agent.adapter_type || 'llm',
    adapter_config: agent.adapter_config ?? {},
    heartbeat_interval_sec: agent.heartbeat_interval_sec ?? company.agent_default_heartbeat_interval_sec,
    max_concurrent_runs: agent.max_concurrent_runs ?? 1,
    max_issues_per_run: agent.max_issues_per_run ?? 1,
    externally_available: agent.externally_available ?? false,
    blocked_notify_enabled: agent.blocked_notify_enabled ?? false,
    auto_extract_findings: agent.auto_extract_findings ?? false,
    gepa_auto_promote: agent.gepa_auto_promote ?? false,
    gepa_provider_override: agent.gepa_provider_override ?? null,
    permissions: (agent.permissions ?? {}) as Record<string, boolean>,
  }));
}

export function goalRows(ids: BundleIds): NewGoal[] {
  return ids.fresh('goals').map((goal) => ({
    id: goal.id,
    title: goal.title,
    description: goal.description ?? null,
    level: goal.level ?? 'company',
    status: goal.status ?? 'active',
    parent_goal_id: ids.ref('goals', goal.parent),
    owner_agent_id: ids.ref('agents', goal.owner),
  }));
}

export function projectRows(ids: BundleIds): NewProject[] {
  return ids.fresh('projects').map((project) => ({
    id: project.id,
    name: project.name,
    description: project.description ?? null,
    status: project.status ?? 'active',
    goal_id: ids.ref('goals', project.goal),
    lead_agent_id: ids.ref('agents', project.lead),
    repo_url: project.repo_url ?? null,
    file_backend: project.file_backend ?? 'local',
    module_endpoint: project.module_endpoint ?? null,
    default_worker_tags: project.default_worker_tags ?? [],
    base_branch: project.base_branch ?? null,
    branch_template: project.branch_template ?? null,
    repo_secret: project.repo_secret ?? null,
    setup_command: project.setup_command ?? null,
    check_command: project.check_command ?? null,
    env: project.env ?? {},
    push_after_run: project.push_after_run ?? false,
    close_on_merge: project.close_on_merge ?? true,
    workspace_days: project.workspace_days ?? 7,
  }));
}

export function routineRows(ids: BundleIds): { routines: NewRoutine[]; triggers: NewTrigger[] } {
  const list = ids.fresh('routines');
  const routines = list.map((routine) => ({
    id: routine.id,
    name: routine.name,
    description: routine.description ?? null,
    assignee_agent_id: ids.ref('agents', routine.assignee),
    project_id: ids.ref('projects', routine.project),
    goal_id: ids.ref('goals', routine.goal),
    title_template: routine.title_template ?? routine.name,
    body_template: routine.body_template ?? null,
    priority: routine.priority ?? 'medium',
    status: routine.status ?? 'active',
    concurrency_policy: routine.concurrency_policy ?? 'coalesce_if_active',
  }));
  const triggers = list.flatMap((routine) =>
    (routine.triggers ?? []).map((each) => triggerRow(routine.id, each)),
  );
  return { routines, triggers };
}

type Trigger = NonNullable<BundleOf<'routines'>['triggers']>[number];

function triggerRow(routine_id: string, trigger: Trigger): NewTrigger {
  const { kind, label = null, signing_mode = 'none', replay_window_sec = 300, cron_expression } = trigger;
  return {
    routine_id,
    kind,
    label,
    signing_mode,
    replay_window_sec,
    cron_expression: cron_expression ?? null,
    timezone: kind === 'schedule' ? (trigger.timezone ?? 'UTC') : null,
  };
}

/** @param now the database's time, RFC 3339: nothing is imported with a timestamp in the future */
export function issueRows(bundle: CompanyBundle, ids: BundleIds, now: string): NewIssue[] {
  return ids.fresh('issues').map((issue) => ({
    id: issue.id,
    title: issue.title,
    body_markdown: issue.body_markdown ?? null,
    status: issue.status ?? 'todo',
    priority: issue.priority ?? 'medium',
    project_id: ids.ref('projects', issue.project),
    goal_id: ids.ref('goals', issue.goal),
    parent_issue_id: ids.ref('issues', issue.parent),
    assignee_agent_id: ids.ref('agents', issue.assignee),
    origin_id: originOf(bundle, issue),
    awaiting_input: issue.awaiting_input ?? false,
    needs_routing: issue.needs_routing ?? false,
    needs_human_attention: issue.needs_human_attention ?? false,
    blocked_at: issue.status === 'blocked' ? now : null,
    blocked_reason: issue.blocked_reason ?? null,
    created_at: notAhead(issue.created_at, now),
  }));
}

export function issueLabelRows(ids: BundleIds) {
  return ids
    .fresh('issues')
    .flatMap(({ id: issue_id, labels = [] }) =>
      labels.map((name) => ({ issue_id, label_id: ids.of('labels', name) })),
    );
}

export function relationRows(ids: BundleIds): NewRelation[] {
  return ids.fresh('issues').flatMap(({ id, relations = [] }) =>
    relations.map(({ type, target }) => ({
      source_issue_id: id,
      target_issue_id: ids.of('issues', target),
      relation_type: type,
    })),
  );
}

export function commentRows(
  ids: BundleIds,
  now: string,
  commentIds: (count: number) => string[],
): NewComment[] {
  return ids.fresh('issues').flatMap(({ id: issue_id, comments = [] }) => {
    const own = commentIds(comments.length);
    return comments.map(({ author, author_name, body_markdown, is_pinned = false, created_at }, index) => ({
      id: own[index]!,
      issue_id,
      author_agent_id: ids.ref('agents', author),
      author_label: author ? null : (author_name ?? null),
      body_markdown,
      is_pinned,
      created_at: notAhead(created_at, now),
    }));
  });
}

export function documentRows(ids: BundleIds): NewDocument[] {
  return ids
    .fresh('issues')
    .flatMap(({ id: issue_id, documents = [] }) =>
      documents.map(({ key, title, body }) => ({ issue_id, key, title, body })),
    );
}

export function noteRows(ids: BundleIds, now: string): NewNote[] {
  return ids.fresh('notes').map((note: WithId<BundleOf<'notes'>>) => ({
    id: note.id,
    title: note.title,
    body_markdown: note.body_markdown,
    kind: note.kind ?? 'note',
    tags: note.tags ?? [],
    issue_id: ids.ref('issues', note.issue),
    archived_at: note.archived === true ? now : null,
  }));
}

/** Compares instants, but keeps the original notation with its microseconds. */
function notAhead(instant: Date | string | undefined, now: string): string {
  if (instant === undefined) return now;
  return new Date(instant).getTime() > new Date(now).getTime() ? now : String(instant);
}

import {
  adapterTraits,
  type AgentPermission,
  agentPermissionDefaults,
  permits,
  type TaskPayload,
  type TimelineEntry,
} from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { defaultPrompt } from '../agents/index.ts';
import { withinBounds } from '../attachments/index.ts';
import { promptFacts, type PromptFacts } from '../heartbeats/index.ts';
import type { ClaimedRun } from '../runs/index.ts';
import { skillTree } from '../skills/index.ts';

interface Surroundings extends Record<string, unknown> {
  /** Comments and activity of the issue, oldest first. */
  timeline: TimelineEntry[];
  project: {
    id: string;
    name: string;
    repo_url: string | null;
    file_backend: string;
    module_endpoint: string | null;
  } | null;
  session_id: string | null;
  session_cwd: string | null;
  /** Null: the company has no list; empty: no host is allowed. */
  egress_hosts: string[] | null;
}

const TIMELINE = 100;
const BODY = 4000;

/**
 * The payload for a run's task (specification, Task payload fields): three statements. Keys and tokens are added when it is
 * handed out. Undefined if the agent is gone.
 */
export async function taskPayload(tx: Tx, run: ClaimedRun): Promise<TaskPayload | undefined> {
  const facts = await promptFacts(tx, run);
  if (facts === undefined) return undefined;
  const around = await surroundings(tx, run);
  const skills = await skillTree(tx, run.agent_id);
  const { agent, company, manager } = facts;
  const config = agent.adapter_config;
  return present({
    run_id: run.run_id,
    agent_id: agent.id,
    agent_name: agent.name,
    agent_role: agent.role,
    manager_name: manager?.name,
    manager_role: manager?.role,
    company_id: company.id,
    company_name: company.name,
    adapter_type: agent.adapter_type,
    adapter_config: config,
    system_prompt: agent.system_prompt?.trim() || defaultPrompt(agent.role),
    wake_reason: run.wake_reason,
    issue: issueOf(facts, around),
    roster: filled(facts.roster.map((colleague) => present(colleague))),
    ...sessionOf(config, around),
    allow_dangerous_permissions: booleanOf(config.allow_dangerous_permissions),
    skills: filled(skills.map((skill) => present({ ...skill }))),
    ...projectOf(around),
    egress_allowlist: around.egress_hosts ?? undefined,
    ...(config.full_context === true ? fullContext(run, facts, around) : {}),
  }) as TaskPayload;
}

async function surroundings(tx: Tx, run: ClaimedRun): Promise<Surroundings> {
  const { rows } = await tx.execute<Surroundings>(sql`
    select
      coalesce((
        select jsonb_agg(entry order by created_at, id) from (
          select * from (
            select m.created_at, m.id, jsonb_build_object('type', 'comment',
              'author_name', coalesce(author.name, writer.display_name, m.author_label, 'unknown'),
              'body', left(m.body_markdown, ${BODY})) as entry
            from comments m
            left join agents author on author.id = m.author_agent_id
            left join users writer on writer.id = m.author_user_id
            where m.issue_id = ${run.issue_id}::uuid
            union all
            select v.created_at, v.id, jsonb_build_object('type', 'activity', 'author_name', v.actor_name,
              'kind', v.action, 'payload', v.details)
            from activity v where v.entity_id = ${run.issue_id}::uuid and v.company_id = ${run.company_id}
              and v.created_at >= (select i.created_at - interval '1 day' from issues i where i.id = ${run.issue_id}::uuid)
          ) happening order by created_at desc, id desc limit ${TIMELINE}
        ) newest), '[]') as timeline,
      (select jsonb_build_object('id', p.id, 'name', p.name, 'repo_url', p.repo_url, 'file_backend', p.file_backend,
          'module_endpoint', p.module_endpoint)
        from issues i join projects p on p.id = i.project_id and p.deleted_at is null
        where i.id = ${run.issue_id}::uuid) as project,
      (select e.hosts from company_egress e where e.company_id = ${run.company_id}) as egress_hosts,
      s.session_id, s.session_cwd
    from (values (1)) as one left join agent_runtime_states s on s.agent_id = ${run.agent_id}`);
  return rows[0]!;
}

function issueOf({ issue }: PromptFacts, { timeline, project }: Surroundings) {
  if (issue === null) return undefined;
  const { id, identifier, title, status, priority } = issue;
  return present({
    id,
    identifier,
    title,
    status,
    priority,
    body_markdown: issue.body_markdown ?? '',
    project_name: project?.name,
    labels: filled(issue.labels),
    timeline: filled(timeline),
    attachments: filled(
      withinBounds(issue.attachments).map((file) => present({ ...file, storage_key: null })),
    ),
  });
}

/** Only for CLIs, which can resume a session. */
function sessionOf(config: Record<string, unknown>, { session_id, session_cwd }: Surroundings) {
  const { local_adapter_type: type } = config;
  const resumable = typeof type === 'string' && adapterTraits(type).cli !== null;
  return resumable ? { session_id, session_cwd } : {};
}

function projectOf({ project }: Surroundings) {
  if (project === null) return {};
  const module =
    project.file_backend === 'module'
      ? {
          project_id: project.id,
          project_file_backend: project.file_backend,
          project_module_endpoint: project.module_endpoint,
        }
      : {};
  return { project_repo_url: project.repo_url, ...module };
}

function fullContext(run: ClaimedRun, facts: PromptFacts, { timeline }: Surroundings) {
  const keys = Object.keys(agentPermissionDefaults) as AgentPermission[];
  return {
    full_context: true,
    capabilities: filled(keys.filter((key) => permits(run.actor.permissions, key))),
    comments: filled(inUtc(facts.issue?.comments ?? [])),
    activities: filled(timeline.filter(({ type }) => type === 'activity')),
    children: filled(facts.issue?.children ?? []),
    wake: filled(inUtc(facts.wakeups)),
  };
}

/** PostgreSQL's JSON writes the offset as `+00:00`, all other answers as `Z`. */
function inUtc<T extends { created_at: string }>(entries: readonly T[]): T[] {
  return entries.map((entry) => ({ ...entry, created_at: new Date(entry.created_at).toISOString() }));
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function filled<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** Omits the fields without data. */
function present(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}

/** A company's entities as they appear in a bundle: in order of creation, without the trash. */
import { agentPermissionDefaults, type BundleOf, type CompanyBundle } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import { and, asc, eq, isNull, sql } from 'drizzle-orm';
import { defaultPrompt } from '../agents/index.ts';
import type { CompanyRow } from '../companies/index.ts';
import { inNoTrash } from '../trash/index.ts';
import { BundleSlugs } from './bundle-slugs.ts';
import {
  portableConfig,
  portableEnvironment,
  portableRepository,
  withoutCredentials,
} from './portable-config.ts';
import { type Names, readIssues } from './read-work.ts';

const { agents, budget_policies, goals, labels, notes, projects, providers, routines, skills } = schema;

type Lists = Omit<CompanyBundle, 'format' | 'version' | 'exported_at' | 'manifest'>;

export async function readCompany(
  tx: Tx,
  company: CompanyRow,
  { issues, clean }: { issues: boolean; clean: (text: string) => string },
): Promise<Lists> {
  const { id } = company;
  const names: Names = {
    agents: new BundleSlugs('agent', clean),
    goals: new BundleSlugs('goal', clean),
    projects: new BundleSlugs('project', clean),
    issues: new BundleSlugs('issue', clean),
  };
  const providerRows = await tx
    .select()
    .from(providers)
    .where(eq(providers.company_id, id))
    .orderBy(asc(providers.created_at), asc(providers.id));
  const labelOf = new Map(providerRows.map((row) => [row.id, row.name]));
  return {
    company: companyOf(company),
    labels: await readLabels(tx, id),
    providers: providerRows.map(providerOf),
    skills: await readSkills(tx, id),
    agents: await readAgents(tx, id, names, labelOf),
    goals: await readGoals(tx, id, names),
    projects: await readProjects(tx, id, names),
    routines: await readRoutines(tx, id, names, new BundleSlugs('routine', clean)),
    ...(issues ? { issues: await readIssues(tx, id, names) } : {}),
    notes: await readNotes(tx, id, names),
    budget_policies: await readPolicies(tx, id, names),
  };
}

function companyOf(row: CompanyRow): CompanyBundle['company'] {
  const { agent_default_adapter_type: adapter_type } = row;
  return {
    name: row.name,
    slug: row.slug,
    default_worker_tags: row.default_worker_tags,
    agent_defaults: {
      adapter_type,
      adapter_config: portableConfig(adapter_type, row.agent_default_adapter_config),
      heartbeat_interval_sec: row.agent_default_heartbeat_interval_sec,
    },
  };
}

function providerOf(row: typeof providers.$inferSelect): BundleOf<'providers'> {
  return {
    label: row.name,
    adapter_type: row.adapter_type as BundleOf<'providers'>['adapter_type'],
    base_url: withoutCredentials(row.base_url),
    enabled: row.enabled,
    needs_api_key: row.api_key_sealed !== null,
    api_key_env: null,
    embeddings: row.embeddings,
    embedding_model: row.embedding_model,
    default_model: row.default_model,
    is_default: row.is_default,
  };
}

async function readLabels(tx: Tx, company_id: string): Promise<BundleOf<'labels'>[]> {
  return tx
    .select({ name: labels.name, color: labels.color })
    .from(labels)
    .where(eq(labels.company_id, company_id))
    .orderBy(asc(labels.created_at), asc(labels.id));
}

async function readSkills(tx: Tx, company_id: string): Promise<BundleOf<'skills'>[]> {
  const { slug, name, description, body_markdown, enabled, company_wide } = skills;
  return tx
    .select({ slug, name, description, body_markdown, enabled, company_wide })
    .from(skills)
    .where(and(eq(skills.company_id, company_id), isNull(skills.deleted_at)))
    .orderBy(asc(skills.created_at), asc(skills.id));
}

/** Condition: no sub-agents, which exist for one issue only, and no agents that are not hired yet or were terminated. */
const isStaff = sql`${agents.deleted_at} is null and ${agents.parent_agent_id} is null
  and ${agents.status} not in ('terminated', 'pending_approval')`;

async function readAgents(
  tx: Tx,
  company_id: string,
  names: Names,
  labelOf: ReadonlyMap<string, string>,
): Promise<BundleOf<'agents'>[]> {
  const attached = sql<string[]>`coalesce((
    select jsonb_agg(s.slug order by s.slug) from agent_skills a join skills s on s.id = a.skill_id
    where a.agent_id = agents.id and s.deleted_at is null), '[]')`;
  const rows = await tx
    .select({ agent: agents, skills: attached })
    .from(agents)
    .where(and(eq(agents.company_id, company_id), isStaff))
    .orderBy(asc(agents.created_at), asc(agents.id));
  for (const { agent } of rows) names.agents.add(agent.id, agent.name);
  return rows.map(({ agent, skills: slugs }) => ({
    slug: names.agents.of(agent.id)!,
    name: agent.name,
    role: agent.role as BundleOf<'agents'>['role'],
    title: agent.title,
    description: agent.description,
    system_prompt: agent.system_prompt === defaultPrompt(agent.role) ? null : (agent.system_prompt ?? ''),
    reports_to: names.agents.of(agent.reports_to),
    provider_label: agent.provider_id === null ? null : (labelOf.get(agent.provider_id) ?? null),
    model: agent.model,
    adapter_type: agent.adapter_type,
    adapter_config: portableConfig(agent.adapter_type, agent.adapter_config),
    heartbeat_interval_sec: agent.heartbeat_interval_sec,
    max_concurrent_runs: agent.max_concurrent_runs,
    max_issues_per_run: agent.max_issues_per_run,
    externally_available: agent.externally_available,
    blocked_notify_enabled: agent.blocked_notify_enabled,
    auto_extract_findings: agent.auto_extract_findings,
    gepa_auto_promote: agent.gepa_auto_promote,
    // Ids are meaningless on another instance.
    gepa_provider_override: isUuid(agent.gepa_provider_override ?? '') ? null : agent.gepa_provider_override,
    permissions: changedPermissions(agent.permissions),
    skills: slugs,
  }));
}

function changedPermissions(permissions: Record<string, boolean>): Record<string, boolean> {
  const changed = Object.entries(agentPermissionDefaults).flatMap(([key, usual]) =>
    permissions[key] === undefined || permissions[key] === usual ? [] : [[key, permissions[key]] as const],
  );
  return Object.fromEntries(changed);
}

async function readGoals(tx: Tx, company_id: string, names: Names): Promise<BundleOf<'goals'>[]> {
  const rows = await tx
    .select()
    .from(goals)
    .where(sql`${goals.company_id} = ${company_id} and ${inNoTrash('goals')}`)
    .orderBy(asc(goals.created_at), asc(goals.id));
  for (const row of rows) names.goals.add(row.id, row.title);
  return rows.map((row) => ({
    slug: names.goals.of(row.id)!,
    title: row.title,
    description: row.description,
    level: row.level as BundleOf<'goals'>['level'],
    status: row.status as BundleOf<'goals'>['status'],
    parent: names.goals.of(row.parent_goal_id),
    owner: names.agents.of(row.owner_agent_id),
  }));
}

async function readProjects(tx: Tx, company_id: string, names: Names): Promise<BundleOf<'projects'>[]> {
  const rows = await tx
    .select()
    .from(projects)
    .where(and(eq(projects.company_id, company_id), isNull(projects.deleted_at)))
    .orderBy(asc(projects.created_at), asc(projects.id));
  for (const row of rows) names.projects.add(row.id, row.name);
  return rows.map((row) => ({
    slug: names.projects.of(row.id)!,
    name: row.name,
    description: row.description,
    status: row.status as BundleOf<'projects'>['status'],
    goal: names.goals.of(row.goal_id),
    lead: names.agents.of(row.lead_agent_id),
    repo_url: portableRepository(row.repo_url),
    file_backend: row.file_backend as BundleOf<'projects'>['file_backend'],
    module_endpoint: withoutCredentials(row.module_endpoint),
    default_worker_tags: row.default_worker_tags,
    base_branch: row.base_branch,
    branch_template: row.branch_template,
    repo_secret: row.repo_secret,
    setup_command: row.setup_command,
    check_command: row.check_command,
    env: portableEnvironment(row.env),
    push_after_run: row.push_after_run,
    close_on_merge: row.close_on_merge,
    workspace_days: row.workspace_days,
  }));
}

async function readRoutines(
  tx: Tx,
  company_id: string,
  names: Names,
  slugs: BundleSlugs,
): Promise<BundleOf<'routines'>[]> {
  const triggers = sql<NonNullable<BundleOf<'routines'>['triggers']>>`coalesce((
    select jsonb_agg(jsonb_build_object('kind', t.kind, 'label', t.label, 'signing_mode', t.signing_mode,
      'replay_window_sec', t.replay_window_sec, 'cron_expression', t.cron_expression, 'timezone', t.timezone)
      order by t.kind, t.cron_expression, t.timezone, t.label, t.signing_mode, t.id)
    from routine_triggers t where t.routine_id = routines.id), '[]')`;
  const rows = await tx
    .select({ routine: routines, triggers })
    .from(routines)
    .where(and(eq(routines.company_id, company_id), isNull(routines.deleted_at)))
    .orderBy(asc(routines.created_at), asc(routines.id));
  return rows.map(({ routine, triggers: list }) => ({
    slug: slugs.add(routine.id, routine.name),
    name: routine.name,
    description: routine.description,
    assignee: names.agents.of(routine.assignee_agent_id),
    project: names.projects.of(routine.project_id),
    goal: names.goals.of(routine.goal_id),
    title_template: routine.title_template,
    body_template: routine.body_template,
    priority: routine.priority as BundleOf<'routines'>['priority'],
    status: routine.status as BundleOf<'routines'>['status'],
    concurrency_policy: routine.concurrency_policy as BundleOf<'routines'>['concurrency_policy'],
    triggers: list,
  }));
}

async function readNotes(tx: Tx, company_id: string, names: Names): Promise<BundleOf<'notes'>[]> {
  const { title, body_markdown, kind, tags, archived_at, issue_id } = notes;
  const rows = await tx
    .select({ title, body_markdown, kind, tags, archived_at, issue_id })
    .from(notes)
    .where(and(eq(notes.company_id, company_id), isNull(notes.deleted_at)))
    .orderBy(asc(notes.created_at), asc(notes.id));
  return rows.map(({ archived_at: archived, issue_id: issue, ...note }) => ({
    ...note,
    kind: note.kind as BundleOf<'notes'>['kind'],
    archived: archived !== null,
    issue: names.issues.of(issue),
  }));
}

/** Leaves out policies of entities that are not in the bundle. */
async function readPolicies(
  tx: Tx,
  company_id: string,
  names: Names,
): Promise<BundleOf<'budget_policies'>[]> {
  const rows = await tx
    .select()
    .from(budget_policies)
    .where(eq(budget_policies.company_id, company_id))
    .orderBy(asc(budget_policies.created_at), asc(budget_policies.id));
  return rows.flatMap((row) => {
    const scopes = {
      company: null,
      project: names.projects.of(row.scope_id),
      agent: names.agents.of(row.scope_id),
    };
    const scope_type = row.scope_type as BundleOf<'budget_policies'>['scope_type'];
    const scope = scopes[scope_type];
    if (scope_type !== 'company' && scope === null) return [];
    return [
      {
        scope_type,
        scope,
        window: row.window as BundleOf<'budget_policies'>['window'],
        limit_usd: Number(row.limit_usd),
        warn_percent: row.warn_percent,
        action: row.action as BundleOf<'budget_policies'>['action'],
        enabled: row.enabled,
      },
    ];
  });
}

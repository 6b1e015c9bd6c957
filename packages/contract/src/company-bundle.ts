/**
 * A company as a file (decisions 3, Portability): what its work consists of, without ids, secrets and history. Entities refer
 * to each other by slug, label or name. Lists are in creation order, and all of them are optional.
 */
import { Type, type Static, type TSchema } from 'typebox';
import { agentPermissionDefaults } from './actor.ts';
import { agentRoles } from './agents.ts';
import { budgetActions, budgetScopes, budgetWindows } from './budgets.ts';
import { goalLevels, goalStatuses } from './goals.ts';
import { issueStatuses, priorities, relationTypes } from './issues.ts';
import { noteKinds } from './notes.ts';
import { projectStatuses, UpdateProject } from './projects.ts';
import { providerFamilies } from './providers.ts';
import { concurrencyPolicies, routineStatuses, signingModes } from './routines.ts';
import { JsonObject, Name, Nullable, OneOf, Text, Timestamp } from './schema-kit.ts';
import { SkillDescription, SkillSlug } from './skills.ts';

export const BUNDLE_FORMAT = 'company-bundle';
export const BUNDLE_VERSION = 1;

/** The lists of a bundle in import order: each may refer to earlier ones and to itself. */
export const bundleLists = [
  'labels',
  'providers',
  'skills',
  'agents',
  'goals',
  'projects',
  'routines',
  'issues',
  'notes',
  'budget_policies',
] as const;
export type BundleList = (typeof bundleLists)[number];

/** How many entities of each list an import has created. */
export const CreatedCounts = Type.Object(
  Object.fromEntries(bundleLists.map((name) => [name, Type.Integer()])) as Record<
    BundleList,
    ReturnType<typeof Type.Integer>
  >,
);
export type CreatedCounts = Static<typeof CreatedCounts>;

/** Unknown fields are rejected: dropping them silently would lose data. */
const strict = { additionalProperties: false };
const object = <P extends Record<string, TSchema>>(properties: P) => Type.Object(properties, strict);
const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);

const Slug = Type.String({ minLength: 1, maxLength: 100, pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' });
const Ref = optional(Nullable(Slug));
const text = optional(Nullable(Text));
const flag = optional(Type.Boolean());
const word = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000]*\\S[^\\u0000]*$' });
const tags = optional(
  Type.Array(Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]+$' }), { maxItems: 50 }),
);
const list = <T extends TSchema>(schema: T, maxItems: number) => optional(Type.Array(schema, { maxItems }));
const seconds = (maximum: number) => optional(Type.Integer({ minimum: 1, maximum }));
const count = optional(Type.Integer({ minimum: 1, maximum: 100 }));

const Company = object({
  name: Name,
  slug: optional(Slug),
  default_worker_tags: tags,
  agent_defaults: optional(
    object({
      adapter_type: optional(Type.String({ maxLength: 100 })),
      adapter_config: optional(JsonObject),
      heartbeat_interval_sec: seconds(31_536_000),
    }),
  ),
});

const Label = object({
  name: Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\u0000]*\\S[^\\u0000]*$' }),
  color: optional(Nullable(Type.String({ maxLength: 50, pattern: '^[^\\u0000]*$' }))),
});

/** Without key and headers: the importer supplies the key, in `provider_keys` or in the variable named here. */
const Provider = object({
  label: word(200),
  adapter_type: OneOf(providerFamilies),
  base_url: optional(Nullable(Type.String({ maxLength: 2000, pattern: '^[^\\u0000]*$' }))),
  enabled: flag,
  /** Useless without a key: imported as disabled if the importer supplies none. Default true. */
  needs_api_key: flag,
  api_key_env: optional(Nullable(Type.String({ maxLength: 200 }))),
  embeddings: flag,
  embedding_model: optional(Nullable(word(200))),
  default_model: optional(Nullable(word(200))),
  is_default: flag,
});

const Skill = object({
  slug: SkillSlug,
  name: Name,
  description: SkillDescription,
  body_markdown: Text,
  enabled: flag,
  company_wide: flag,
});

const Agent = object({
  slug: Slug,
  name: Name,
  role: OneOf(agentRoles),
  title: optional(Nullable(Name)),
  description: text,
  /** Null or absent: the role's built-in prompt. */
  system_prompt: text,
  reports_to: Ref,
  provider_label: optional(Nullable(word(200))),
  model: optional(Nullable(word(200))),
  adapter_type: optional(Type.String({ maxLength: 100 })),
  adapter_config: optional(JsonObject),
  heartbeat_interval_sec: seconds(31_536_000),
  max_concurrent_runs: count,
  max_issues_per_run: count,
  externally_available: flag,
  blocked_notify_enabled: flag,
  auto_extract_findings: flag,
  gepa_auto_promote: flag,
  gepa_provider_override: optional(Nullable(word(200))),
  /** Only those that differ from the defaults. */
  permissions: optional(
    Type.Partial(
      object(Object.fromEntries(Object.keys(agentPermissionDefaults).map((key) => [key, Type.Boolean()]))),
      strict,
    ),
  ),
  skills: list(SkillSlug, 500),
});

const Goal = object({
  slug: Slug,
  title: Name,
  description: text,
  level: optional(OneOf(goalLevels)),
  status: optional(OneOf(goalStatuses)),
  parent: Ref,
  owner: Ref,
});

/** How workspaces are created; secrets are referenced by name. */
export const repositoryFields = [
  'base_branch',
  'branch_template',
  'repo_secret',
  'setup_command',
  'check_command',
  'env',
  'push_after_run',
  'close_on_merge',
  'workspace_days',
] as const;

const Project = object({
  slug: Slug,
  name: Name,
  description: text,
  status: optional(OneOf(projectStatuses)),
  goal: Ref,
  lead: Ref,
  repo_url: optional(Nullable(Type.String({ minLength: 1, maxLength: 2000, pattern: '^[^\\s\\u0000]+$' }))),
  file_backend: optional(OneOf(['local', 'module'])),
  module_endpoint: optional(Nullable(Type.String({ maxLength: 2000, pattern: '^https?://[^\\s\\u0000]+$' }))),
  default_worker_tags: tags,
  ...Type.Pick(UpdateProject, repositoryFields).properties,
});

/** Always imported as disabled; a signed webhook gets a new secret. */
const Trigger = object({
  kind: OneOf(['webhook', 'schedule']),
  label: optional(Nullable(Type.String({ maxLength: 200, pattern: '^[^\\u0000]*$' }))),
  signing_mode: optional(OneOf(signingModes)),
  replay_window_sec: optional(Type.Integer({ minimum: 0, maximum: 2_592_000 })),
  cron_expression: optional(Nullable(word(200))),
  timezone: optional(Nullable(word(64))),
});

const Routine = object({
  slug: Slug,
  name: Name,
  description: text,
  assignee: Ref,
  project: Ref,
  goal: Ref,
  title_template: optional(Name),
  body_template: text,
  priority: optional(OneOf(priorities)),
  status: optional(OneOf(routineStatuses)),
  concurrency_policy: optional(OneOf(concurrencyPolicies)),
  triggers: list(Trigger, 50),
});

const Comment = object({
  /** At most one of the two: a name if the author is not an agent of the bundle. */
  author: Ref,
  author_name: optional(Nullable(Type.String({ maxLength: 500, pattern: '^[^\\u0000]*$' }))),
  body_markdown: Text,
  is_pinned: flag,
  created_at: optional(Timestamp),
});

const Document = object({ key: word(200), title: Name, body: Text });

const Issue = object({
  slug: Slug,
  title: Name,
  body_markdown: text,
  status: optional(OneOf(issueStatuses)),
  priority: optional(OneOf(priorities)),
  project: Ref,
  goal: Ref,
  parent: Ref,
  assignee: Ref,
  awaiting_input: flag,
  needs_routing: flag,
  needs_human_attention: flag,
  /** Lists and events have it: no longer than a question. */
  blocked_reason: optional(Nullable(Type.String({ maxLength: 2048, pattern: '^[^\\u0000]*$' }))),
  labels: list(Type.String({ maxLength: 100 }), 100),
  relations: list(object({ type: OneOf(relationTypes), target: Slug }), 1000),
  comments: list(Comment, 10_000),
  documents: list(Document, 200),
  created_at: optional(Timestamp),
});

const Note = object({
  title: Name,
  body_markdown: Text,
  kind: optional(OneOf(noteKinds)),
  tags,
  archived: flag,
  issue: Ref,
});

const BudgetPolicy = object({
  scope_type: OneOf(budgetScopes),
  /** Slug of the project or agent; null for the company. */
  scope: Ref,
  window: OneOf(budgetWindows),
  limit_usd: Type.Number({ minimum: 0, maximum: 1_000_000_000 }),
  warn_percent: optional(Type.Integer({ minimum: 1, maximum: 100 })),
  action: optional(OneOf(budgetActions)),
  enabled: flag,
});

/** What the export left out, so that nothing is lost silently. Ignored on import. */
const Manifest = object({
  description: optional(Type.String({ maxLength: 2000 })),
  omitted: list(object({ what: Type.String(), count: Nullable(Type.Integer()), reason: Type.String() }), 100),
});

export const CompanyBundle = object({
  format: Type.Literal(BUNDLE_FORMAT),
  version: Type.Literal(BUNDLE_VERSION),
  exported_at: optional(Timestamp),
  manifest: optional(Manifest),
  company: Company,
  labels: list(Label, 1000),
  providers: list(Provider, 100),
  skills: list(Skill, 1000),
  agents: list(Agent, 1000),
  goals: list(Goal, 2000),
  projects: list(Project, 1000),
  routines: list(Routine, 1000),
  issues: list(Issue, 20_000),
  notes: list(Note, 20_000),
  budget_policies: list(BudgetPolicy, 1000),
});
export type CompanyBundle = Static<typeof CompanyBundle>;

export type BundleOf<L extends BundleList> = NonNullable<CompanyBundle[L]>[number];

import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { createdAt, id, instant, updatedAt } from './columns.ts';
import { companies } from './companies.ts';
import { issues } from './issues.ts';
import { projects } from './projects.ts';
import { heartbeat_runs } from './runs.ts';
import { work_products } from './work-products.ts';

/** The folder of an issue, whichever agent works on it: a branch of a repository, or plain files. */
export const workspaces = pgTable(
  'workspaces',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    project_id: uuid().references(() => projects.id, { onDelete: 'set null' }),
    /** `repository` or `folder`. */
    kind: text().notNull(),
    /** Repository at the time the workspace was created: the contents of the folder belong to it. */
    repo_url: text(),
    base_branch: text(),
    branch: text(),
    state: text().notNull().default('empty'),
    error: text(),
    base_commit: text(),
    head_commit: text(),
    /** State of the folder at the end of the last run, committed or not. */
    work_commit: text(),
    pushed_commit: text(),
    pushed_at: instant(),
    /** Incremented with each stored state; a folder with another version is out of date. */
    version: integer().notNull().default(0),
    /** The scheduler machine that has the folder of that version. */
    place: text(),
    size_bytes: bigint({ mode: 'number' }).notNull().default(0),
    commit_count: integer().notNull().default(0),
    file_count: integer().notNull().default(0),
    additions: integer().notNull().default(0),
    deletions: integer().notNull().default(0),
    /** More had changed than is kept. */
    truncated: boolean().notNull().default(false),
    review_state: text().notNull().default('none'),
    check_status: text().notNull().default('none'),
    check_output: text(),
    checked_at: instant(),
    last_run_id: uuid(),
    last_used_at: instant(),
    removed_at: instant(),
    /** When a webhook made, or will make, its pull request be checked: one check every few seconds is enough. */
    news_at: instant(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    uniqueIndex('workspaces_issue').on(t.issue_id),
    index('workspaces_company').on(t.company_id, t.created_at.desc(), t.id.desc()),
    index('workspaces_project_branch').on(t.project_id, t.branch),
    // Workspaces of one machine, for its sweep.
    index('workspaces_place')
      .on(t.place, t.last_used_at)
      .where(sql`${t.place} is not null`),
  ],
);

/** The part of a workspace not yet in its repository, as a git bundle in the storage: losing a machine loses none of it. */
export const workspace_bundles = pgTable('workspace_bundles', {
  workspace_id: uuid()
    .primaryKey()
    .references(() => workspaces.id, { onDelete: 'cascade' }),
  storage_key: text().notNull(),
  size_bytes: bigint({ mode: 'number' }).notNull(),
  sha256: text().notNull(),
  version: integer().notNull(),
  created_at: createdAt(),
});

/** Commits of the branch that its base lacks, starting with the newest (0); rewritten by each run. */
export const workspace_commits = pgTable(
  'workspace_commits',
  {
    workspace_id: uuid()
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    position: integer().notNull(),
    sha: text().notNull(),
    author_name: text().notNull(),
    subject: text().notNull(),
    committed_at: instant(),
  },
  (t) => [primaryKey({ columns: [t.workspace_id, t.position] })],
);

/** Changed files: of the whole branch against its base or, with a run, of that run alone. */
export const workspace_files = pgTable(
  'workspace_files',
  {
    id: id(),
    workspace_id: uuid()
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    run_id: uuid().references(() => heartbeat_runs.id, { onDelete: 'cascade' }),
    position: integer().notNull(),
    path: text().notNull(),
    old_path: text(),
    status: text().notNull(),
    additions: integer().notNull(),
    deletions: integer().notNull(),
    binary: boolean().notNull(),
    /** Unified diff, without the lines that name the file; null if there is nothing to show. */
    patch: text(),
    patch_truncated: boolean().notNull(),
  },
  (t) => [
    uniqueIndex('workspace_files_branch')
      .on(t.workspace_id, t.position)
      .where(sql`${t.run_id} is null`),
    uniqueIndex('workspace_files_run')
      .on(t.run_id, t.position)
      .where(sql`${t.run_id} is not null`),
    index('workspace_files_workspace').on(t.workspace_id),
  ],
);

/** People's comments on a line; passed to the agent by the next run. */
export const review_comments = pgTable(
  'review_comments',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    issue_id: uuid()
      .notNull()
      .references(() => issues.id, { onDelete: 'cascade' }),
    path: text().notNull(),
    side: text().notNull(),
    line: integer().notNull(),
    /** The line as it was then. */
    line_text: text(),
    commit: text(),
    body_markdown: text().notNull(),
    status: text().notNull().default('open'),
    author_user_id: uuid(),
    author_agent_id: uuid(),
    /** When a successful run received it in this form; it is sent again only if it changes or is requested again. */
    told_at: instant(),
    told_agent_id: uuid(),
    created_at: createdAt(),
    updated_at: updatedAt(),
  },
  (t) => [
    index('review_comments_issue').on(t.issue_id, t.created_at, t.id),
    index('review_comments_company').on(t.company_id),
  ],
);

/** Actions that people have a scheduler perform on a workspace: push, open a pull request, merge it. */
export const workspace_actions = pgTable(
  'workspace_actions',
  {
    id: id(),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    workspace_id: uuid()
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    kind: text().notNull(),
    input: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    status: text().notNull().default('queued'),
    error: text(),
    created_by_user_id: uuid(),
    lease_expires_at: instant(),
    attempts: integer().notNull().default(0),
    created_at: createdAt(),
    finished_at: instant(),
  },
  (t) => [
    // One at a time: an action after a push may depend on it.
    uniqueIndex('workspace_actions_live')
      .on(t.workspace_id)
      .where(sql`${t.status} in ('queued', 'running')`),
    index('workspace_actions_workspace').on(t.workspace_id, t.created_at.desc(), t.id.desc()),
    index('workspace_actions_open')
      .on(t.created_at)
      .where(sql`${t.status} in ('queued', 'running')`),
    index('workspace_actions_company').on(t.company_id),
  ],
);

/** How a work product of type `pull_request` is tracked; people see the work product. */
export const pull_requests = pgTable(
  'pull_requests',
  {
    work_product_id: uuid()
      .primaryKey()
      .references(() => work_products.id, { onDelete: 'cascade' }),
    workspace_id: uuid()
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    provider: text().notNull(),
    /** `https://api.github.com`, or that of a self-hosted server. */
    api_url: text().notNull(),
    /** `owner/name`; for GitLab the whole path. */
    repository: text().notNull(),
    number: integer().notNull(),
    open: boolean().notNull().default(true),
    next_look_at: instant()
      .notNull()
      .default(sql`now()`),
    failures: integer().notNull().default(0),
    /** When the last check began: of two concurrent ones the later wins. */
    looked_at: instant(),
    created_at: createdAt(),
  },
  (t) => [
    index('pull_requests_due')
      .on(t.next_look_at)
      .where(sql`${t.open}`),
    index('pull_requests_workspace').on(t.workspace_id),
    index('pull_requests_company').on(t.company_id),
  ],
);

/** Webhooks through which the hosts of repositories report activity. One per project. */
export const repository_webhooks = pgTable(
  'repository_webhooks',
  {
    project_id: uuid()
      .primaryKey()
      .references(() => projects.id, { onDelete: 'cascade' }),
    company_id: uuid()
      .notNull()
      .references(() => companies.id, { onDelete: 'cascade' }),
    /** Last segment of its URL: opaque, and new with each secret. */
    public_id: uuid().notNull(),
    secret_sealed: text().notNull(),
    /** The admin who was shown the secret. */
    created_by_user_id: uuid(),
    last_event: text(),
    received_at: instant(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex('repository_webhooks_public_id').on(t.public_id),
    index('repository_webhooks_created_by')
      .on(t.created_by_user_id)
      .where(sql`${t.created_by_user_id} is not null`),
    index('repository_webhooks_company').on(t.company_id),
  ],
);

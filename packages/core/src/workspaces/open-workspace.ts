import { inOrder, schema, type Tx } from '@acp/db';
import { eq, inArray, sql } from 'drizzle-orm';
import { branchName } from '../projects/index.ts';
import type { WorkspaceRow } from './present.ts';

const { workspaces } = schema;

/** A person's comment on a line, for the prompt. */
interface OpenRemark {
  id: string;
  path: string;
  side: string;
  line: number;
  line_text: string | null;
  body_markdown: string;
  author_name: string | null;
}

/** Everything a run needs to work in its issue's workspace. */
export interface WorkspaceFacts {
  workspace: WorkspaceRow;
  issue: { identifier: string; title: string };
  agent_name: string;
  project: ProjectOfWorkspace | null;
  /** Location of what the repository lacks; null if nothing. */
  bundle: { storage_key: string; size_bytes: number; sha256: string; version: number } | null;
  /** The oldest comments that the agent has not been shown in their present form. */
  remarks: OpenRemark[];
  remark_count: number;
  /** Number of open comments that it has been shown. */
  told_count: number;
  /** When they were read: later comments are left for the next run. */
  read_at: string;
}

interface ProjectOfWorkspace {
  repo_url: string | null;
  base_branch: string | null;
  branch_template: string | null;
  repo_secret: string | null;
  /** Commands and variables are for the project's own repository: empty in the workspace of another one. */
  setup_command: string | null;
  check_command: string | null;
  env: Record<string, string>;
  push_after_run: boolean;
}

/** Maximum number of comments in a prompt. */
const REMARKS = 50;

/**
 * The issue's workspace, created if there is none. Its repository and branch are fixed by the first run that leaves something
 * in it: a project that moves to another repository does not move the workspace. Undefined if the issue is gone.
 */
export async function openWorkspace(
  tx: Tx,
  { issue_id, agent_id }: { issue_id: string; agent_id: string },
): Promise<WorkspaceFacts | undefined> {
  const { rows } = await tx.execute<{
    company_id: string;
    identifier: string;
    title: string;
    agent_name: string;
    project_id: string | null;
    project: ProjectOfWorkspace | null;
    remarks: OpenRemark[];
    remark_count: number;
    told_count: number;
    read_at: string;
  }>(sql`
    with opened as (
      select c.*, c.told_at is not null and c.told_at >= c.updated_at and c.told_agent_id = ${agent_id} as told
      from review_comments c where c.issue_id = ${issue_id} and c.status = 'open')
    select i.company_id, i.identifier, i.title, a.name as agent_name, p.id as project_id,
      case when p.id is not null then jsonb_build_object('repo_url', p.repo_url, 'base_branch', p.base_branch,
        'branch_template', p.branch_template, 'repo_secret', p.repo_secret, 'setup_command', p.setup_command,
        'check_command', p.check_command, 'env', p.env, 'push_after_run', p.push_after_run) end as project,
      coalesce((select jsonb_agg(jsonb_build_object('id', c.id, 'path', c.path, 'side', c.side, 'line', c.line,
          'line_text', c.line_text, 'body_markdown', c.body_markdown, 'author_name', u.display_name) order by c.created_at, c.id)
        from (select * from opened c where not c.told
          order by c.created_at, c.id limit ${REMARKS}) c left join users u on u.id = c.author_user_id), '[]') as remarks,
      (select count(*)::int from opened where not told) as remark_count,
      (select count(*)::int from opened where told) as told_count,
      clock_timestamp()::text as read_at
    from issues i join agents a on a.id = ${agent_id}
      left join projects p on p.id = i.project_id and p.deleted_at is null
    where i.id = ${issue_id} and i.deleted_at is null`);
  const [found] = rows;
  if (found === undefined) return undefined;
  const { company_id, identifier, title, agent_name, project_id, project } = found;
  const { remarks, remark_count, told_count, read_at } = found;
  const repository = project?.repo_url ?? null;
  const settled = {
    project_id,
    kind: repository === null ? 'folder' : 'repository',
    repo_url: repository,
    base_branch: project?.base_branch ?? null,
    branch: repository === null ? null : branchName(project?.branch_template ?? null, { identifier, title }),
  };
  const [workspace] = await tx
    .insert(workspaces)
    .values({ company_id, issue_id, ...settled })
    .onConflictDoUpdate({
      target: workspaces.issue_id,
      set: Object.fromEntries(
        Object.entries(settled).map(([column, value]) => [
          column,
          sql`case when ${workspaces.version} = 0 then ${value} else ${sql.identifier('workspaces')}.${sql.identifier(column)} end`,
        ]),
      ),
    })
    .returning();
  const bundle = await bundleOf(tx, workspace!.id);
  return {
    workspace: workspace!,
    issue: { identifier, title },
    agent_name,
    project: project && forWorkspace(project, workspace!),
    bundle,
    remarks,
    remark_count,
    told_count,
    read_at,
  };
}

/**
 * Who names a project's repository decides whose code gets its environment, and what its commands run on; an issue that comes
 * from another project with its workspace must not bring another repository along.
 */
function forWorkspace(
  project: ProjectOfWorkspace,
  { repo_url }: Pick<WorkspaceRow, 'repo_url'>,
): ProjectOfWorkspace {
  if (project.repo_url === repo_url) return project;
  return { ...project, setup_command: null, check_command: null, env: {} };
}

/**
 * Marks the comments as shown by a successful run: the agent's next run doesn't get them again, unless they change or changes
 * are requested again. What was written during the run was not shown to it.
 */
export async function markCommentsDelivered(
  tx: Tx,
  { remarks, read_at }: Pick<WorkspaceFacts, 'remarks' | 'read_at'>,
  agent_id: string,
): Promise<void> {
  if (remarks.length === 0) return;
  const { review_comments } = schema;
  await tx
    .update(review_comments)
    .set({ told_at: sql`${read_at}::timestamptz`, told_agent_id: agent_id })
    .where(
      inOrder(
        review_comments,
        inArray(
          review_comments.id,
          remarks.map(({ id }) => id),
        ),
        'no key update',
      ),
    );
}

async function bundleOf(tx: Tx, workspace_id: string): Promise<WorkspaceFacts['bundle']> {
  const { workspace_bundles: bundles } = schema;
  const [row] = await tx
    .select({
      storage_key: bundles.storage_key,
      size_bytes: bundles.size_bytes,
      sha256: bundles.sha256,
      version: bundles.version,
    })
    .from(bundles)
    .where(eq(bundles.workspace_id, workspace_id));
  return row ?? null;
}

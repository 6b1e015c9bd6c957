import type { Project, ProjectSummary } from '@acp/contract';
import { schema } from '@acp/db';
import { shownColumns } from '../trash/index.ts';

export type ProjectRow = typeof schema.projects.$inferSelect;

/** As shown to clients: references to trashed entities are null. */
export const projectColumns = shownColumns(schema.projects);

export function summarizeProject(row: ProjectRow): ProjectSummary {
  return {
    id: row.id,
    company_id: row.company_id,
    name: row.name,
    status: row.status as Project['status'],
    goal_id: row.goal_id,
    lead_agent_id: row.lead_agent_id,
    repo_url: row.repo_url,
    file_backend: row.file_backend as Project['file_backend'],
    module_endpoint: row.module_endpoint,
    default_worker_tags: row.default_worker_tags,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

export function presentProject(row: ProjectRow): Project {
  return {
    ...summarizeProject(row),
    description: row.description,
    base_branch: row.base_branch,
    branch_template: row.branch_template,
    repo_secret: row.repo_secret,
    setup_command: row.setup_command,
    check_command: row.check_command,
    env: row.env,
    push_after_run: row.push_after_run,
    close_on_merge: row.close_on_merge,
    workspace_days: row.workspace_days,
  };
}

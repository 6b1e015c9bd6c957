import { resolveSecrets, type WorkspaceFacts } from '@acp/core';
import { repositoryList } from '../egress/repository-list.ts';
import type { Repository } from './repository-cache.ts';
import type { WorkspaceSources } from './sources.ts';

/** Null: the workspace has none. */
export type Remote = Repository | null;

export async function remoteOf(
  { database, vault }: WorkspaceSources,
  {
    workspace,
    project,
  }: Pick<WorkspaceFacts, 'workspace'> & {
    project: { repo_secret: string | null; repo_url: string | null } | null;
  },
): Promise<Remote> {
  const { company_id, repo_url } = workspace;
  if (repo_url === null) return null;
  // If the URL has changed, the project's secret now belongs to a different repository.
  const name = project?.repo_url === repo_url ? project.repo_secret : null;
  const list = await repositoryList(database, company_id, repo_url);
  if (name === null) return { company_id, repo_url, secret: null, list };
  const { value } = await resolveSecrets(database.db, company_id, `\${secret:${name}}`, vault);
  return { company_id, repo_url, secret: value, list };
}

/** What a project is, and how far it is. */
import type { Project } from '@acp/contract';
import { type Count, issueProgress } from '../issues/issue-progress.ts';
import { timeAgo } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { markdown } from '../kit/markdown.ts';
import { emptyState, status } from '../kit/parts.ts';

export const projectCard = (project: Project): Html =>
  html`<article class="card">
    <p class="soft small">
      !${status(project.status)} changed !${timeAgo(project.updated_at)}
      !${when(project.repo_url, (url) => html`· <code>${url}</code>`)}
    </p>
    !${project.description ? markdown(project.description) : html`<p class="soft">No description.</p>`}
  </article>`;

export const workPath = ({ id }: Pick<Project, 'id'>): string => `/projects/${id}/part/work`;

/** @param can_write whether the reader can add to it */
export function projectWork(
  project: Pick<Project, 'id' | 'company_id'>,
  counts: readonly Count[],
  can_write: boolean,
): Html {
  const { id: project_id, company_id } = project;
  if (counts.length > 0) return issueProgress(company_id, { project_id }, counts);
  return emptyState(
    'No issues yet',
    can_write
      ? html`<a href="/companies/${company_id}/issues/new">Write one</a> and choose this project: it then
          appears here.`
      : html`Issues that are given to this project appear here.`,
  );
}

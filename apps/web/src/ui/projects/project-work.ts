/** What a project is, and how far it is: its issues by status, each leading to the list of them. */
import { type IssueStatus, issueStatuses, type Project } from '@acp/contract';
import { limitMeter } from '../costs/figures.ts';
import { timeAgo } from '../kit/format.ts';
import { each, html, type Html, plural, t, when } from '../kit/html.ts';
import { markdown } from '../kit/markdown.ts';
import { emptyState, status } from '../kit/parts.ts';
import { pathWith } from '../issues/issue-filter.ts';
import { boardOf } from './project-list.ts';

interface Count {
  status: IssueStatus;
  count: number;
}

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
  const list = `/companies/${company_id}/issues`;
  const of = new Map(counts.map(({ status: value, count }) => [value, count]));
  const sum = (...statuses: readonly IssueStatus[]): number =>
    statuses.reduce((total, value) => total + (of.get(value) ?? 0), 0);
  if (sum(...issueStatuses) === 0)
    return emptyState(
      'No issues yet',
      can_write
        ? html`<a href="${list}/new">Write one</a> and choose this project: it then appears here.`
        : html`Issues that are given to this project appear here.`,
    );
  // What was cancelled is no longer to be done.
  const total = sum(...issueStatuses) - sum('cancelled');
  const done = sum('done');
  const share = (part: number): number => (total === 0 ? 0 : (100 * part) / total);
  const said = plural(total, '{0} of # issue done', '{0} of # issues done', done);
  return html`<p>
      <strong>${said}</strong>
      <span class="soft">${t`${sum('in_progress', 'in_review')} under way`}</span>
    </p>
    !${limitMeter({ label: said, spent: share(done), reserved: share(sum('in_progress', 'in_review')), warn: 100, level: 'within_limit' })}
    <ul class="counts">
      !${each(
        issueStatuses.filter((value) => of.has(value)),
        (value) =>
          html`<li>
            <a href="${pathWith(list, { project_id, status: [value] })}"
              >!${status(value)} <span class="number">${of.get(value)!}</span></a
            >
          </li>`,
      )}
    </ul>
    <p class="more">
      <a href="${boardOf(project)}">On the board</a> ·
      <a href="${pathWith(list, { project_id })}">As a list</a>
    </p>`;
}

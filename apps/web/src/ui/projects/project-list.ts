import type { Project } from '@acp/contract';
import { listProjects } from '@acp/core';
import type { Page } from '@acp/db';
import { timeAgo } from '../kit/format.ts';
import { html, type Html } from '../kit/html.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { emptyState, status } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import type { UiContext } from '../kit/ui-routes.ts';

export const boardOf = ({ company_id, id }: Pick<Project, 'company_id' | 'id'>): string =>
  `/companies/${company_id}/board?project=${id}`;

export const projectColumns: readonly Column<Project>[] = [
  { label: 'Name', cell: ({ id, name }) => html`<a href="/projects/${id}">${name}</a>` },
  { label: 'Status', phone: 'plain', cell: (project) => status(project.status) },
  {
    label: 'Issues',
    phone: 'named',
    cell: (project) => html`<a class="word" href="${boardOf(project)}">on the board</a>`,
  },
  { label: 'Changed', phone: 'plain', cell: ({ updated_at }) => timeAgo(updated_at) },
];

export const loadProjects = ({ tx, company_id, query }: UiContext): Promise<Page<Project>> =>
  listProjects(tx, company_id, searchOf(query));

/** The projects with their search. @param query the page's own */
export function projectList(
  path: string,
  query: Readonly<Record<string, string>>,
  projects: Page<Project>,
): Html {
  const { items, next_cursor } = projects;
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Projects', projectColumns, items)}!${moreLink(searched(path, query), next_cursor, 'Older projects')}
        </div>`
      : nothingListed(path, query, () =>
          emptyState('No projects yet', html`A project groups issues, and gives agents their context.`),
        );
  return html`!${searchedList(path, query, projects, list)}`;
}

/** What serves a goal: its parts, the projects that are linked to it, and the issues that have it as their own. */
import type { Goal } from '@acp/contract';
import { countBoard, listProjects } from '@acp/core';
import { issueProgress } from '../issues/issue-progress.ts';
import { words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { emptyState, status } from '../kit/parts.ts';
import { allLink, firstRows, moreLink, pageOf, table } from '../kit/table.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { projectColumns } from '../projects/project-list.ts';

/** Goals below their parents, oldest first; goals whose parent is not listed are at the top level. */
export function goalTree(goals: readonly Goal[]): Html {
  const known = new Set(goals.map(({ id }) => id));
  const below = Map.groupBy(goals.toReversed(), ({ parent_goal_id }) =>
    parent_goal_id !== null && known.has(parent_goal_id) ? parent_goal_id : '',
  );
  const branch = (parent: string): Html => {
    const children = below.get(parent) ?? [];
    if (children.length === 0) return '';
    return html`<ul class="tree">
      !${each(
        children,
        (goal) =>
          html`<li>
            <a href="/goals/${goal.id}">${goal.title}</a> !${status(goal.status)}
            <span class="soft small">${words(goal.level)}</span>
            !${branch(goal.id)}
          </li>`,
      )}
    </ul>`;
  };
  return branch('');
}

/** @param path of the goal's page */
export const goalParts = (
  path: string,
  query: Readonly<Record<string, string>>,
  parts: readonly Goal[],
): Html =>
  when(
    parts.length > 0,
    () =>
      html`<h2>Parts</h2>
        !${goalTree(firstRows(parts, query))}!${allLink(path, query, parts)}`,
  );

export async function goalWork(context: UiContext<'goal'>): Promise<Html> {
  const { tx, subject, company_id, query } = context;
  const { items, next_cursor } = await listProjects(tx, company_id, {
    ...pageOf(query),
    goalId: subject.id,
  });
  const projects =
    items.length > 0
      ? html`!${table('Projects', projectColumns, items)}!${moreLink(`/goals/${subject.id}`, next_cursor, 'Older projects')}`
      : emptyState('No projects yet', html`Projects that are linked to this goal appear here.`);
  return html`<section class="card">
      <h2>Projects</h2>
      !${projects}
    </section>
    <section class="card" data-live="issues" data-source="/goals/${subject.id}/part/issues">
      !${await goalIssues(context)}
    </section>`;
}

export async function goalIssues({ tx, subject, company_id }: UiContext<'goal'>): Promise<Html> {
  const counts = await countBoard(tx, company_id, { goal_id: subject.id });
  return html`<h2>Issues</h2>
    !${counts.length > 0 ? issueProgress(company_id, { goal_id: subject.id }, counts) : emptyState('No issues yet', html`Issues that have this goal themselves appear here.`)}`;
}

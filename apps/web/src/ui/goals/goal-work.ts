/** What serves a goal: the projects that are linked to it, and the issues that have it as their own. */
import { countBoard, listProjects } from '@acp/core';
import { issueProgress } from '../issues/issue-progress.ts';
import { html, type Html } from '../kit/html.ts';
import { emptyState } from '../kit/parts.ts';
import { moreLink, pageOf, table } from '../kit/table.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { projectColumns } from '../projects/project-list.ts';

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
    <section class="card" data-live="issues" data-source="/goals/${subject.id}/part/issues" data-pace="2000">
      !${await goalIssues(context)}
    </section>`;
}

export async function goalIssues({ tx, subject, company_id }: UiContext<'goal'>): Promise<Html> {
  const counts = await countBoard(tx, company_id, { goal_id: subject.id });
  return html`<h2>Issues</h2>
    !${counts.length > 0 ? issueProgress(company_id, { goal_id: subject.id }, counts) : emptyState('No issues yet', html`Issues that have this goal themselves appear here.`)}`;
}

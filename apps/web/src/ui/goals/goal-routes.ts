import { type Goal, goalEndpoints as rows } from '@acp/contract';
import { findGoal, listGoals, partsOfGoal, presentGoal } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { companyPage } from '../kit/company-frame.ts';
import { timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searchedList, searchOf } from '../kit/list-search.ts';
import { markdown } from '../kit/markdown.ts';
import { emptyState, formLink, notice, status } from '../kit/parts.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite, trashCard } from '../kit/write-access.ts';
import { goalForm, readGoal } from './goal-form.ts';
import { goalIssues, goalParts, goalTree, goalWork } from './goal-work.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byGoal = { by: 'goal', param: 'goalId' } as const;
const listPath = (company_id: string): string => `/companies/${company_id}/goals`;

/** More than anyone keeps in view; goals beyond that are reached through their parents. */
const MOST = 200;

const done: Record<string, string> = texts({
  created: 'The goal has been created.',
  changed: 'Saved.',
  deleted: 'The goal is in the trash.',
});

async function loadGoals({ tx, company_id }: UiContext, q?: string): Promise<Goal[]> {
  return (await listGoals(tx, company_id, { limit: MOST, ...(q && { q }) })).items;
}

async function goalsPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { company_id, query } = context;
  const path = listPath(company_id);
  const { q } = searchOf(query);
  const goals = await loadGoals(context);
  const items = q === undefined ? goals : await loadGoals(context, q);
  const list =
    items.length > 0
      ? html`<div class="card">!${goalTree(items)}</div>`
      : nothingListed(path, query, () =>
          emptyState(
            'No goals yet',
            html`Say what the company wants to achieve. Agents read an issue’s goals with every run on it.`,
          ),
        );
  const fresh = mayWrite(context) ? await goalForm(context, path, t`New goal`, error, form, null) : '';
  return companyPage(context, {
    title: t`Goals`,
    active: path,
    actions: fresh && goals.length > 0 ? formLink(t`New goal`, 'title') : '',
    body: html`!${notice(done[query.done ?? ''])}!${searchedList(path, query, { items, next_cursor: null }, list)}!${fresh}`,
  });
}

async function goalPage(
  context: UiContext<'goal'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, subject, company_id, query } = context;
  const path = listPath(company_id);
  const here = `/goals/${subject.id}`;
  const goal = presentGoal(subject);
  const children = await partsOfGoal(tx, subject);
  const parent = goal.parent_goal_id === null ? undefined : await findGoal(tx, goal.parent_goal_id);
  const edit = mayWrite(context)
    ? html`!${await asShown(await goalForm(context, here, t`Edit`, error, form, goal), form)}!${trashCard(`${here}/delete`, goal.title, t`An admin can restore it from the trash for a while.`)}`
    : '';
  const body = html`!${notice(done[query.done ?? ''])}
    <article class="card">
      <p class="soft small">
        !${status(goal.status)} ${words(goal.level)} · changed !${timeAgo(goal.updated_at)}
      </p>
      !${goal.description ? markdown(goal.description) : html`<p class="soft">No description.</p>`}
      !${goalParts(here, query, children)}
    </article>
    !${await goalWork(context)}!${edit}`;
  const trail = [
    { label: t`Goals`, path },
    ...(parent ? [{ label: parent.title, path: `/goals/${parent.id}` }] : []),
  ];
  return companyPage(context, { title: goal.title, active: path, trail, body });
}

export const goalRoutes: UiRoute[] = [
  page('/companies/{companyId}/goals', { scope: byCompany, role: 'viewer' }, (c) => goalsPage(c)),
  action('/companies/{companyId}/goals', rows.create, {
    read: readGoal,
    next: (_c, goal) => `/goals/${goal.id}?done=created`,
    failed: goalsPage,
  }),
  page('/goals/{goalId}/part/issues', { scope: byGoal, role: 'viewer' }, goalIssues),
  page('/goals/{goalId}', { scope: byGoal, role: 'viewer' }, (c) => goalPage(c)),
  action('/goals/{goalId}', rows.update, {
    read: readGoal,
    edits: (c) => goalPage(c),
    next: (c) => `/goals/${c.subject.id}?done=changed`,
    failed: goalPage,
  }),
  action('/goals/{goalId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: goalPage,
  }),
];

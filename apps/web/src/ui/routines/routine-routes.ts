import { routineEndpoints as rows } from '@acp/contract';
import { agentOutlinesById, listRoutines, listTriggers, presentRoutine } from '@acp/core';
import { offerOf } from '../kit/choice.ts';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { searchOf } from '../kit/list-search.ts';
import { notice } from '../kit/parts.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { listBody, listPath } from './list-page.ts';
import { readRoutine, type Refused, type RoutineChoices, routineForm } from './routine-form.ts';
import { routineRunsPart } from './run-table.ts';
import { factsPart, routinePage, runsOf } from './routine-view.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byRoutine = { by: 'routine', param: 'routineId' } as const;
type RoutineContext = UiContext<'routine'>;

async function routinesPage(context: UiContext<'company'>): Promise<Html> {
  const { tx, company_id, query } = context;
  const archived = query.archived === 'yes';
  const status = archived ? 'archived' : 'active,paused';
  const { items, next_cursor } = await listRoutines(tx, company_id, { ...searchOf(query), status });
  const agents = await agentOutlinesById(
    tx,
    company_id,
    items.map(({ assignee_agent_id }) => assignee_agent_id),
  );
  const path = listPath(company_id);
  const can_write = mayWrite(context);
  const list = listBody({
    company_id,
    routines: items,
    agents: new Map(agents.map(({ id, name }) => [id, name])),
    archived,
    next_cursor,
    query,
    can_write,
  });
  return companyPage(context, {
    title: t`Routines`,
    active: path,
    actions: can_write ? html`<a class="button" href="${path}/new">New routine</a>` : '',
    body: html`!${notice(query.done === 'deleted' ? 'The routine is in the trash.' : null)}!${list}`,
  });
}

/** @param now what its issues are linked to */
async function choicesOf(
  context: UiContext,
  now: Partial<RoutineContext['subject']>,
  form: FormValues | undefined,
): Promise<RoutineChoices> {
  return {
    agents: await offerOf(context, 'agent', now.assignee_agent_id, form?.text('assignee_agent_id')),
    projects: await offerOf(context, 'project', now.project_id, form?.text('project_id')),
    goals: await offerOf(context, 'goal', now.goal_id, form?.text('goal_id')),
  };
}

async function newPage(context: UiContext<'company'>, refused: Refused | null): Promise<Html> {
  const path = listPath(context.company_id);
  return companyPage(context, {
    title: t`New routine`,
    active: path,
    trail: [{ label: t`Routines`, path }],
    body: await routineForm(`${path}/new`, await choicesOf(context, {}, refused?.form), null, refused),
  });
}

async function editPage(context: RoutineContext, refused: Refused | null): Promise<Html> {
  const { subject, company_id } = context;
  const path = listPath(company_id);
  const here = placeOf(context);
  return companyPage(context, {
    title: t`Edit`,
    active: path,
    trail: [
      { label: t`Routines`, path },
      { label: subject.name, path: here },
    ],
    body: await routineForm(
      `${here}/edit`,
      await choicesOf(context, subject, refused?.form),
      presentRoutine(subject),
      refused,
    ),
  });
}

const placeOf = ({ subject }: RoutineContext): string => `/routines/${subject.id}`;
const failed = (context: RoutineContext, error: string): Promise<Html> =>
  routinePage(context, context.subject, { error });
const fireFailed = (context: RoutineContext, error: string, form: FormValues): Promise<Html> =>
  form.has('payload')
    ? routinePage(context, context.subject, { refused: { at: 'fire', error, form } })
    : failed(context, error);

export const routineRoutes: UiRoute[] = [
  page('/companies/{companyId}/routines', { scope: byCompany, role: 'viewer' }, routinesPage),
  page('/companies/{companyId}/routines/new', { scope: byCompany, role: 'member' }, (c) => newPage(c, null)),
  action('/companies/{companyId}/routines/new', rows.create, {
    read: readRoutine,
    next: (_, routine) => `/routines/${routine.id}?done=created`,
    failed: (c, error, form) => newPage(c, { error, form }),
  }),
  page('/routines/{routineId}', { scope: byRoutine, role: 'viewer' }, (c) => routinePage(c, c.subject)),
  page('/routines/{routineId}/part/runs', { scope: byRoutine, role: 'viewer' }, async (c) => {
    const { items: triggers } = await listTriggers(c.tx, c.user, c.subject, { limit: 200 });
    return routineRunsPart(placeOf(c), await runsOf(c, c.subject, triggers));
  }),
  page('/routines/{routineId}/part/facts', { scope: byRoutine, role: 'viewer' }, (c) =>
    factsPart(c, c.subject),
  ),
  page('/routines/{routineId}/edit', { scope: byRoutine, role: 'member' }, (c) => editPage(c, null)),
  action('/routines/{routineId}/edit', rows.update, {
    read: (form) => ({ ...readRoutine(form), title_template: form.sent('title_template') }),
    edits: (c) => editPage(c, null),
    next: (c) => `${placeOf(c)}?done=changed`,
    failed: (c, error, form) => editPage(c, { error, form }),
  }),
  action('/routines/{routineId}/status', rows.update, {
    read: (form) => ({ status: form.text('status') }),
    next: (c) => `${placeOf(c)}?done=changed`,
    failed,
  }),
  action('/routines/{routineId}/fire', rows.fire, {
    read: (form) => ({ payload: form.json('payload') }),
    next: (c, { status, run }) =>
      `${placeOf(c)}?done=${status}${run.issue_id === null ? '' : `&issue=${run.issue_id}`}`,
    failed: fireFailed,
  }),
  action('/routines/{routineId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed,
  }),
];

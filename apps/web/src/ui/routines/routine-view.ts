/** Loads what a routine's page shows. */
import { routineTriggerEndpoints, type RoutineTrigger } from '@acp/contract';
import {
  findAgent,
  findCompanyGoal,
  findCompanyProject,
  issuesOfRuns,
  listRoutineRuns,
  listTriggers,
  nextFireTimes,
  presentRoutine,
  type RoutineRow,
} from '@acp/core';
import { databaseNow, type Tx } from '@acp/db';
import { ServiceError } from '@acp/kernel';
import { answeredBy, type Names, namesOfAnswerers } from '../kit/answered-by.ts';
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { heedRefusal, t, texts } from '../kit/language.ts';
import { postButton } from '../kit/parts.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { listPath } from './list-page.ts';
import { type Named, routineBody, routineFacts, type RoutineView } from './routine-page.ts';
import type { RoutineRunsView } from './run-table.ts';
import type { TriggerView } from './trigger-parts.ts';

const FIRES = 5;
const RUNS = 20;
/** Maximum number shown; older ones are in the API. */
const TRIGGERS = 200;

/** Outcome of an action, besides the routine itself. */
export type Outcome = Partial<Pick<RoutineView, 'error' | 'secret' | 'refused'>>;

const done: Readonly<Record<string, string>> = texts({
  created: 'The routine has been created. Give it a schedule or a webhook, or fire it by hand.',
  promoted: 'The issue has become a routine: check when it fires next.',
  changed: 'Saved.',
  enqueued: 'Fired: there is a new issue.',
  coalesced: 'Fired: its open issue has a comment about it, and the agent is woken.',
  skipped: 'Fired: its last issue is still open, so nothing was done.',
  failed: 'The fire failed.',
  trigger: 'The trigger has been created.',
  url: 'The webhook has a new URL; the old one no longer works.',
  signing: 'The signing mode has been changed.',
  removed: 'The trigger has been deleted.',
});

export async function routinePage(context: UiContext, row: RoutineRow, outcome: Outcome = {}): Promise<Html> {
  const { company_id, query } = context;
  const path = listPath(company_id);
  const can_write = mayWrite(context);
  const view = await viewOf(context, row);
  const body = await routineBody({
    ...view,
    said: done[query.done ?? ''],
    about: view.runs.issues.get(query.issue ?? ''),
    ...outcome,
  });
  const fire =
    row.status === 'active' ? postButton(`/routines/${row.id}/fire`, 'Fire now', { class: '' }) : '';
  return companyPage(context, {
    title: row.name,
    active: path,
    trail: [{ label: t`Routines`, path }],
    actions: can_write ? html`<a class="button quiet" href="/routines/${row.id}/edit">Edit</a> !${fire}` : '',
    body,
  });
}

async function viewOf(context: UiContext, row: RoutineRow): Promise<Omit<RoutineView, 'said' | 'about'>> {
  const { tx, user, services, query } = context;
  const { cursor } = query;
  const can_write = mayWrite(context);
  const { items: triggers } = await listTriggers(tx, user, row, { limit: TRIGGERS });
  const runs = await runsOf(context, row, triggers);
  const now = await databaseNow(tx);
  const names = await namesOfAnswerers(tx, triggers);
  return {
    routine: presentRoutine(row),
    ...(await readReferenced(tx, row)),
    triggers: triggers.map((trigger) =>
      triggerView(trigger, row, now, { public_url: can_write ? services.public_url : null, names }),
    ),
    runs,
    runs_source: `/routines/${row.id}/part/runs${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ''}`,
    can_write,
    signable: services.vault.available,
    time_zone: user.preferences?.time_zone ?? 'UTC',
    refused: null,
    error: null,
    secret: null,
  };
}

export async function runsOf(
  { tx, query }: UiContext,
  row: RoutineRow,
  triggers: readonly RoutineTrigger[],
): Promise<RoutineRunsView> {
  const { cursor } = query;
  const { items, next_cursor } = await listRoutineRuns(tx, row, {
    limit: RUNS,
    ...(cursor ? { cursor } : {}),
  });
  const issues = await issuesOfRuns(tx, row.company_id, items);
  const labels = new Map(triggers.map(({ id, label }) => [id, label]));
  return { runs: items, issues, triggers: labels, next_cursor };
}

/** The facts of the routine as they are now. */
export async function factsPart(context: UiContext, row: RoutineRow): Promise<Html> {
  const referenced = await readReferenced(context.tx, row);
  const can_write = mayWrite(context);
  return routineFacts({ routine: presentRoutine(row), ...referenced, can_write, refused: null });
}

async function readReferenced(
  tx: Tx,
  row: RoutineRow,
): Promise<Pick<RoutineView, 'agent' | 'project' | 'goal'>> {
  const { assignee_agent_id: agent, project_id: project, goal_id: goal } = row;
  const named = async (
    id: string | null,
    find: (id: string) => Promise<string | undefined>,
    path: string,
  ): Promise<Named> => {
    if (id === null) return undefined;
    const name = await find(id);
    return name === undefined ? null : { name, path: `${path}/${id}` };
  };
  return {
    agent: await named(agent, async (id) => nameOf(await findAgent(tx, id)), '/agents'),
    project: await named(
      project,
      async (id) => (await findCompanyProject(tx, row.company_id, id))?.name,
      '/projects',
    ),
    goal: await named(goal, async (id) => (await findCompanyGoal(tx, row.company_id, id))?.title, '/goals'),
  };
}

const nameOf = (agent: { name: string; status: string } | undefined): string | undefined =>
  agent?.status === 'paused' ? t`${agent.name}, paused` : agent?.name;

/** @param public_url null for users who may not fire it */
function triggerView(
  trigger: RoutineTrigger,
  routine: Pick<RoutineRow, 'status'>,
  now: Date,
  { public_url, names }: { public_url: string | null; names: Names },
): TriggerView {
  const { kind, enabled, cron_expression, timezone, public_id } = trigger;
  if (kind === 'webhook') {
    const path = routineTriggerEndpoints.firePublic.path.replace('{publicId}', public_id ?? '');
    const url = public_url === null || public_id === null ? null : public_url + path;
    return { trigger, fires: [], problem: null, url, by: answeredBy(names, trigger) };
  }
  const view = { trigger, fires: [], problem: null, url: null, by: '' };
  if (!enabled || routine.status !== 'active') return view;
  try {
    return { ...view, fires: nextFireTimes(cron_expression ?? '', timezone ?? 'UTC', now, FIRES) };
  } catch (error) {
    // The platform no longer knows the time zone: the page must still open, as that is where to fix it.
    if (!(error instanceof ServiceError)) throw error;
    return { ...view, problem: heedRefusal(error) };
  }
}

import { adminWorkerEndpoints as rows } from '@acp/contract';
import { findAdminWorker, lastSequence, listAdminWorkers, queueStats, type WorkerMove } from '@acp/core';
import { notFound } from '@acp/kernel';
import { namesOfAnswerers } from '../kit/answered-by.ts';
import type { FormValues } from '../kit/form-values.ts';
import type { Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { listAfter, searchOf } from '../kit/list-search.ts';
import { formLink } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import {
  fleetBody,
  fleetPart,
  fleetPath,
  type FleetView,
  type ShownState,
  shownStates,
  WORKERS,
} from './worker-pages.ts';

const instance = { scope: { by: 'none' }, role: 'instance_admin' } as const;

async function viewOf({ tx, query, params, services }: UiContext): Promise<FleetView> {
  services.instance.requireFeature(rows.list);
  const only = statusOf(query.status);
  const [{ items, next_cursor }, stats] = await Promise.all([
    listAdminWorkers(tx, { ...searchOf(query), ...filterOf(only) }),
    queueStats(tx),
  ]);
  // The worker of a form is there, whatever part of the list it was on.
  const id = params.workerId;
  const own = id === undefined || items.some((each) => each.id === id) ? null : await findAdminWorker(tx, id);
  const workers = own === null ? items : [own, ...items];
  return {
    workers,
    names: await namesOfAnswerers(tx, workers),
    next_cursor,
    stats,
    status: only,
    query,
  };
}

async function fleetPage(
  context: UiContext,
  error: string | null = null,
  form: FormValues | null = null,
  api_key: string | null = null,
): Promise<Html> {
  const { user, query } = context;
  // Read before the rest: anything that happens from here on reaches the page by its stream.
  const cursor = await lastSequence(context.tx);
  const body = await fleetBody(await viewOf(context), { error, form, done: query.done, api_key });
  const actions = formLink(t`New worker`, 'name');
  return shell({ title: t`Workers`, user, company: null, active: WORKERS, cursor, actions, body });
}

/** With the form of a worker that is still there. @throws notFound */
async function editedPage(context: UiContext): Promise<Html> {
  const worker = await findAdminWorker(context.tx, context.params.workerId ?? '');
  if (worker === null) throw notFound('the worker has been deleted');
  return fleetPage(context);
}

const statusOf = (name: string | undefined): ShownState | null =>
  shownStates.find((known) => known === name) ?? null;

const filterOf = (only: ShownState | null) => ({
  ...(only === null ? {} : { status: only === 'offline' ? 'approved' : only }),
  ...(only === 'offline' ? { online: false } : {}),
});

const after = (done: string) => (_: unknown, __: unknown, form: FormValues) =>
  listAfter(fleetPath(statusOf(form.text('status'))), form, done);

/** Comma-separated tags. */
const tagsOf = (form: FormValues): string[] =>
  form
    .text('tags')
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

const moved: Record<WorkerMove, string> = {
  approve: 'approved',
  reject: 'rejected',
  disable: 'disabled',
  enable: 'enabled',
  drain: 'draining',
  undrain: 'undrained',
};

export const workerRoutes: UiRoute[] = [
  page(WORKERS, instance, (c) => fleetPage(c)),
  page(`${WORKERS}/part/fleet`, instance, async (c) => fleetPart(await viewOf(c))),
  // The key is shown only in this response, so there is no redirect.
  action(WORKERS, rows.create, {
    read: (form) => ({ name: form.text('name'), tags: tagsOf(form) }),
    next: (c, { api_key }) => fleetPage(c, null, null, api_key),
    failed: fleetPage,
  }),
  action(`${WORKERS}/{workerId}`, rows.update, {
    read: (form) => ({ name: form.sent('name'), tags: form.has('tags') ? tagsOf(form) : undefined }),
    edits: editedPage,
    next: () => `${WORKERS}?done=saved`,
    failed: fleetPage,
  }),
  ...(Object.entries(moved) as [WorkerMove, string][]).map(([move, done]) =>
    action(`${WORKERS}/{workerId}/${move}`, rows[move], {
      next: after(done),
      failed: fleetPage,
    }),
  ),
  action(`${WORKERS}/{workerId}/delete`, rows.delete, {
    next: after('deleted'),
    failed: fleetPage,
  }),
];

import type { AdminWorker, QueueStats, WorkerStatus } from '@acp/contract';
import { answeredBy, type Names } from '../kit/answered-by.ts';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { span, timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { listFields, nothingListed, searched, searchedList } from '../kit/list-search.ts';
import { emptyState, formError, input, notice, postButton, shownOnce, status, tabs } from '../kit/parts.ts';
import { type Column, moreLink, samePage, table } from '../kit/table.ts';

export const WORKERS = '/admin/workers';

export interface FleetView {
  workers: readonly AdminWorker[];
  names: Names;
  next_cursor: string | null;
  stats: QueueStats;
  /** Only workers in this state; null: all. */
  status: ShownState | null;
  /** The page's own query. */
  query: Readonly<Record<string, string>>;
}

/** What the page learns from its address or the last form. */
interface FleetSaid {
  error: string | null;
  form: FormValues | null;
  done: string | undefined;
  /** Key of a newly created worker. */
  api_key: string | null;
}

/** `offline`: approved, and not seen lately. */
export const shownStates = [
  'pending_approval',
  'approved',
  'offline',
  'draining',
  'disabled',
  'rejected',
] as const satisfies readonly (WorkerStatus | 'offline')[];
export type ShownState = (typeof shownStates)[number];

const done: Record<string, string> = texts({
  approved: 'The worker has been approved.',
  rejected: 'The worker has been rejected.',
  disabled: 'The worker’s key no longer works; its tasks go to others.',
  enabled: 'The worker has been enabled.',
  draining: 'The worker finishes its tasks and gets no new ones.',
  undrained: 'The worker gets tasks again.',
  saved: 'Saved.',
  deleted: 'The worker and its key have been deleted.',
});

export const fleetPath = (only: string | null): string =>
  only === null ? WORKERS : `${WORKERS}?status=${only}`;

export async function fleetBody(view: FleetView, said: FleetSaid): Promise<Html> {
  const { form } = said;
  const isNew = form?.has('new') ?? false;
  const errors = new FieldErrors(said.error, isNew ? ['name', 'tags'] : []);
  const filters = [null, ...shownStates].map((shown) => ({
    label: shown === null ? t`all` : words(shown),
    path: searched(fleetPath(shown), view.query),
  }));
  const part = `${WORKERS}/part/fleet${view.status === null ? '' : `?status=${view.status}`}`;
  const source = samePage(searched(part, view.query), view.query);
  const { workers: items, next_cursor } = view;
  const fleet = html`<div class="stack" data-live="workers" data-source="${source}">
    !${await fleetPart(view)}
  </div>`;
  return html`!${formError(errors.general)}!${notice(done[said.done ?? ''])}
    !${when(said.api_key, (key) => shownOnce('The new worker’s key (SERVICE_WORKER_KEY), shown only once:', key))}
    !${tabs('By state', filters, searched(fleetPath(view.status), view.query))}
    !${searchedList(fleetPath(view.status), view.query, { items, next_cursor }, fleet)}
    <form class="card" method="post" action="${WORKERS}">
      <h2>New worker</h2>
      <p class="soft">Created ahead of its first start. Workers that register themselves appear above.</p>
      <input type="hidden" name="new" value="on" />
      <div class="row">
        !${input({ name: 'name', label: 'Name', required: true, value: isNew ? form?.text('name') : '', error: errors.of('name') })}
        !${input({ name: 'tags', label: 'Tags', hint: 'Comma-separated', value: isNew ? form?.text('tags') : '', error: errors.of('tags') })}
        <button>Create</button>
      </div>
    </form>`;
}

/** The part that refreshes itself. */
export async function fleetPart({
  workers,
  names,
  next_cursor,
  stats,
  status: only,
  query,
}: FleetView): Promise<Html> {
  const here = fleetPath(only);
  const forms = new Map(
    await Promise.all(workers.map(async (worker) => [worker.id, await changeForm(worker)] as const)),
  );
  const list =
    workers.length === 0
      ? nothingListed(here, query, () =>
          emptyState(
            only === null ? 'No worker has registered' : 'No worker is in this state',
            html`A worker runs agents on your own machine: start <code>npm run worker</code> there, with
              <code>SERVICE_SERVER_URL</code> and a key.`,
          ),
        )
      : html`<div class="card">
          !${table('Workers', columns(names, forms, listFields(query, 'status')), workers)}!${moreLink(searched(here, query), next_cursor, 'Older workers')}
        </div>`;
  return html`!${figures(stats)}!${list}`;
}

function figures({ workers, by_tag, ...queue }: QueueStats): Html {
  const oldest =
    queue.oldest_queued_sec === null || queue.queued === 0
      ? ''
      : html`<p class="soft small">The oldest has waited for ${span(queue.oldest_queued_sec)}.</p>`;
  const tags = html`<ul class="list">
    !${each(by_tag.slice(0, 10), ({ tag, queued }) => html`<li><code class="grow">${tag}</code><span>${queued}</span></li>`)}
  </ul>`;
  return html`<div class="tiles">
    <section class="card">
      <h2>Fleet</h2>
      <p>${workers.online} online, <a href="${fleetPath('offline')}">${workers.offline} offline</a></p>
      !${when(workers.pending_approval, (waiting) => html`<p><a href="${fleetPath('pending_approval')}">${waiting} waiting for approval</a></p>`)}
      <p class="soft small">${workers.draining} draining, ${workers.disabled} disabled</p>
    </section>
    <section class="card">
      <h2>Tasks</h2>
      <p>${queue.queued} queued, ${queue.claimed} in progress</p>
      !${oldest}
      <p class="soft small">${queue.completed_24h} completed and ${queue.failed_24h} failed within a day</p>
    </section>
    !${when(
      by_tag.length > 0,
      () =>
        html`<section class="card">
          <h2>Queued by tag</h2>
          !${tags}
        </section>`,
    )}
  </div>`;
}

const columns = (
  names: Names,
  forms: ReadonlyMap<string, Html>,
  fields: Record<string, string>,
): Column<AdminWorker>[] => [
  { label: 'Worker', cell: nameCell },
  { label: 'State', cell: stateCell },
  {
    label: 'Tags',
    cell: ({ tags }) =>
      when(
        tags.length > 0,
        () =>
          html`<span class="labels">!${each(tags, (tag) => html`<span class="label">${tag}</span>`)}</span>`,
      ),
  },
  { label: 'Load', kind: 'number', cell: ({ running }) => html`${running}` },
  {
    label: 'By',
    cell: (worker) => answeredBy(names, worker) || html`<span class="soft">the operator</span>`,
  },
  { label: 'Seen', cell: ({ last_seen_at }) => timeAgo(last_seen_at) },
  {
    label: 'Change the worker',
    kind: 'acts',
    cell: (worker) => acts(worker, forms.get(worker.id) ?? '', fields),
  },
];

function nameCell({ name, version, prompt_version, shared_models: shared }: AdminWorker): Html {
  const served = shared.map(({ provider, models }) => `${provider}: ${models.join(', ')}`).join('; ');
  const build = [version && t`version ${version}`, prompt_version && t`contract ${prompt_version}`, served]
    .filter((text) => text)
    .join(' · ');
  return html`<span class="wraps">${name}</span
    >!${when(build, (text) => html`<p class="soft small wraps">${text}</p>`)}`;
}

function stateCell({ status: state, online }: AdminWorker): Html {
  const mayWork = state === 'approved' || state === 'draining';
  const presence = mayWork ? html`<span class="soft small">${online ? t`online` : t`offline`}</span>` : '';
  return html`!${status(state)} !${presence}`;
}

const moves: Record<WorkerStatus, readonly { act: string; label: string; ask?: (name: string) => string }[]> =
  {
    pending_approval: [
      { act: 'approve', label: 'Approve' },
      { act: 'reject', label: 'Reject', ask: (name) => t`Reject ${name} permanently?` },
    ],
    approved: [
      { act: 'drain', label: 'Drain' },
      { act: 'disable', label: 'Disable', ask: (name) => t`Disable ${name}? Its tasks go to others.` },
    ],
    draining: [
      { act: 'undrain', label: 'Undrain' },
      { act: 'disable', label: 'Disable', ask: (name) => t`Disable ${name}? Its tasks go to others.` },
    ],
    disabled: [{ act: 'enable', label: 'Enable' }],
    rejected: [],
  };

const changeForm = ({ id, name, tags }: AdminWorker): Promise<Html> =>
  asShown(
    html`<form method="post" action="${WORKERS}/${id}">
      !${input({ name: 'name', id: `name-${id}`, label: 'Name', required: true, value: name })}
      !${input({ name: 'tags', id: `tags-${id}`, label: 'Tags', hint: 'Comma-separated', items: '', value: tags.join(', ') })}
      <button class="small">Save</button>
    </form>`,
  );

function acts({ id, name, status: state }: AdminWorker, form: Html, fields: Record<string, string>): Html {
  const path = `${WORKERS}/${id}`;
  const buttons = each(moves[state], ({ act, label, ask }) =>
    postButton(`${path}/${act}`, label, {
      class: 'quiet small',
      fields,
      ...(ask ? { confirm: ask(name) } : {}),
    }),
  );
  return html`!${buttons}
    <details class="edit" data-fold="edit ${id}">
      <summary>More …</summary>
      !${form}!${postButton(`${path}/delete`, 'Delete', { class: 'danger small', fields, confirm: t`Delete ${name} and its key?` })}
    </details>`;
}

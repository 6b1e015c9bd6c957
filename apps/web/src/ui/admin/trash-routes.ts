import { type TrashEntry, type TrashType, trashEndpoints as rows, trashTypes } from '@acp/contract';
import { deletersOf, listCompanies, listTrash, userNames } from '@acp/core';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import {
  listAfter,
  listFields,
  nothingListed,
  searched,
  searchedList,
  searchOf,
} from '../kit/list-search.ts';
import { emptyState, formError, notice, postButton, tabs } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';

const instance = { scope: { by: 'none' }, role: 'instance_admin' } as const;
const PATH = '/admin/trash';

const done: Record<string, string> = texts({
  restored: 'Restored, without its keys.',
  purged: 'Deleted permanently.',
});

const typeOf = (name: string | undefined): TrashType | undefined =>
  trashTypes.find((known) => known === name);
const pathOf = (type: TrashType | undefined): string => (type ? `${PATH}?type=${type}` : PATH);
const after = (what: string) => (_: unknown, __: unknown, form: FormValues) =>
  listAfter(pathOf(typeOf(form.text('type'))), form, what);

async function trashPage(context: UiContext<'none'>, error: string | null = null): Promise<Html> {
  const { tx, user, query } = context;
  const type = typeOf(query.type);
  const here = pathOf(type);
  const { items, next_cursor } = await listTrash(tx, {
    ...searchOf(query),
    ...(type ? { type } : {}),
  });
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Trash', await columnsFor(context, items), items)}!${moreLink(searched(here, query), next_cursor, 'Older items')}
        </div>`
      : nothingListed(here, query, () =>
          emptyState(
            'The trash is empty',
            html`Deleted items stay here for a while: companies, agents, issues and more.`,
          ),
        );
  const filters = [undefined, ...trashTypes].map((each) => ({
    label: each ? several[each] : t`all`,
    path: searched(pathOf(each), query),
  }));
  const body = html`!${formError(new FieldErrors(error).general)}!${notice(done[query.done ?? ''])}
  !${tabs('By kind', filters, searched(here, query))}!${searchedList(here, query, { items, next_cursor }, list)}`;
  return shell({ title: t`Trash`, user, company: null, active: PATH, body });
}

const several: Record<TrashType, string> = texts({
  company: 'companies',
  agent: 'agents',
  issue: 'issues',
  project: 'projects',
  goal: 'goals',
  note: 'notes',
  skill: 'skills',
  routine: 'routines',
});

async function columnsFor(
  { tx, query }: UiContext,
  entries: readonly TrashEntry[],
): Promise<Column<TrashEntry>[]> {
  const people = await userNames(
    tx,
    entries.map(({ deleted_by_user_id }) => deleted_by_user_id),
  );
  const unnamed = entries.filter(({ deleted_by_user_id: id }) => id === null);
  const others = await deletersOf(
    tx,
    unnamed.map(({ entity_id }) => entity_id),
  );
  const ids = [...new Set(entries.map(({ company_id }) => company_id))];
  const companies = new Map((await listCompanies(tx, ids)).map(({ id, name }) => [id, name]));
  return [
    { label: 'What', cell: ({ name, type }) => html`${name} <span class="soft small">${words(type)}</span>` },
    {
      label: 'Company',
      cell: ({ type, company_id }) =>
        type === 'company' ? '' : html`${companies.get(company_id) ?? t`in the trash too`}`,
    },
    { label: 'Deleted', cell: ({ deleted_at }) => timeAgo(deleted_at) },
    {
      label: 'By',
      cell: ({ deleted_by_user_id: id, entity_id }) =>
        html`${(id && people.get(id)) ?? others.get(entity_id) ?? t`an agent or a key`}`,
    },
    { label: 'Restore or purge', kind: 'acts', cell: (entry) => acts(entry, listFields(query, 'type')) },
  ];
}

/** A purge takes two steps, with or without script. */
function acts({ type, entity_id, trash_id, name }: TrashEntry, fields: Record<string, string>): Html {
  const entry = `${PATH}/${type}/${entity_id}/${trash_id}`;
  return html`!${postButton(`${entry}/restore`, 'Restore', { class: 'quiet small', fields })}
    <details class="sure">
      <summary>Purge …</summary>
      !${postButton(`${entry}/purge`, t`Delete ${name} permanently`, { class: 'danger small', fields })}
    </details>`;
}

export const trashRoutes: UiRoute[] = [
  page(PATH, instance, (c) => trashPage(c)),
  action(`${PATH}/{type}/{entityId}/{trashId}/restore`, rows.restore, {
    next: after('restored'),
    failed: trashPage,
  }),
  action(`${PATH}/{type}/{entityId}/{trashId}/purge`, rows.purge, {
    next: after('purged'),
    failed: trashPage,
  }),
];

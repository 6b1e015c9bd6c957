import { type BoardUserKey, boardUserKeyEndpoints } from '@acp/contract';
import { listBoardUserKeys } from '@acp/core';
import { answeredBy, type Names, namesOfAnswerers } from '../kit/answered-by.ts';
import { timeAgo, timeLeft, words } from '../kit/format.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { emptyState, formError, input, notice, postButton, select, shownOnce } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { action, page, type UiRoute } from '../kit/ui-routes.ts';
import { accessPage, byCompany, type CompanyContext, membersPath, roleChoices } from './access-frame.ts';

const keysPath = (company_id: string): string => `${membersPath(company_id)}/keys`;

async function keysPage(
  context: CompanyContext,
  error: string | null = null,
  form: FormValues | null = null,
  raw_key: string | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const { items, next_cursor } = await listBoardUserKeys(tx, company_id, searchOf(query));
  const names = await namesOfAnswerers(tx, items);
  const base = keysPath(company_id);
  const errors = new FieldErrors(error, ['label', 'role', 'expires_in_days']);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Integration keys', keyColumns(names), items)}!${moreLink(searched(base, query), next_cursor, 'Older keys')}
        </div>`
      : nothingListed(base, query, () =>
          emptyState('No integration keys yet', html`Create one above for a script or a service.`),
        );
  const body = html`!${when(raw_key, (key) => shownOnce('The new key, shown only once:', key))}
    !${notice(query.done === 'revoked' ? 'The key has been revoked, effective immediately.' : null)}
    <form class="card" method="post" action="${base}">
      <h2>New key</h2>
      !${formError(errors.general)}
      <div class="row">
        !${input({ name: 'label', label: 'What it is for', value: form?.text('label') ?? '', error: errors.of('label') })}
        !${select({ name: 'role', label: 'Role', value: form?.text('role') || 'member', choices: roleChoices(), error: errors.of('role') })}
        !${input({ name: 'expires_in_days', label: 'Expires in (days)', type: 'number', min: 1, value: form?.text('expires_in_days') ?? '', hint: 'Empty: valid until revoked', error: errors.of('expires_in_days') })}
        <button>Mint a key</button>
      </div>
    </form>
    !${searchedList(base, query, { items, next_cursor }, list)}`;
  return accessPage(context, '/keys', body);
}

const keyColumns = (names: Names): Column<BoardUserKey>[] => [
  { label: 'Key', cell: ({ key_prefix }) => html`<code>${key_prefix}…</code>` },
  { label: 'For', cell: ({ label }) => html`${label ?? ''}` },
  { label: 'Role', cell: ({ role }) => html`${words(role)}` },
  { label: 'By', cell: (key) => answeredBy(names, key) },
  { label: 'Minted', cell: ({ created_at }) => timeAgo(created_at) },
  { label: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at) },
  { label: 'Ends', cell: ({ expires_at }) => (expires_at === null ? html`never` : timeLeft(expires_at)) },
  {
    label: 'Revoke',
    kind: 'acts',
    cell: ({ id, label, key_prefix }) =>
      postButton(`/board-user-keys/${id}/revoke`, 'Revoke', {
        class: 'danger small',
        confirm: t`Revoke the key ${label ?? key_prefix}? Anything that uses it is refused immediately.`,
      }),
  },
];

export const keyRoutes: UiRoute[] = [
  page('/companies/{companyId}/members/keys', { scope: byCompany, role: 'admin' }, (c) => keysPage(c)),
  // The key is shown only in this response, so there is no redirect.
  action('/companies/{companyId}/members/keys', boardUserKeyEndpoints.mint, {
    read: (form) => ({
      role: form.text('role'),
      label: form.cleared('label'),
      expires_in_days: form.number('expires_in_days'),
    }),
    next: (c, { raw_key }) => keysPage(c, null, null, raw_key),
    failed: keysPage,
  }),
  action('/board-user-keys/{keyId}/revoke', boardUserKeyEndpoints.delete, {
    next: (c) => `${keysPath(c.company_id)}?done=revoked`,
  }),
];

/** What someone has created that works by itself, wherever that person's rights are taken away. */
import type { CredentialKind, MadeCredential } from '@acp/contract';
import { timeAgo } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { texts } from '../kit/language.ts';
import { checkbox } from '../kit/parts.ts';
import { type Column, table } from '../kit/table.ts';

/** Whether `keepBox` is ticked, as the query of a removal. */
export const keptQuery = (form: FormValues): Record<string, string> =>
  form.checked('keep_keys') ? { keep_keys: 'true' } : {};

const kindNames: Readonly<Record<CredentialKind, string>> = texts({
  board_user_key: 'Integration key',
  agent_key: 'Agent key',
  routine_trigger: 'Routine webhook',
  webhook: 'Outbound webhook',
  repository_webhook: 'Repository webhook',
  worker: 'Worker key',
});

const columns: Column<MadeCredential>[] = [
  { label: 'What', cell: ({ kind }) => html`${kindNames[kind]}` },
  { label: 'Name', cell: ({ label }) => html`<span class="wraps">${label}</span>` },
  { label: 'Created', cell: ({ created_at }) => timeAgo(created_at) },
  { label: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at) },
];

export const credentialTable = (made: readonly MadeCredential[]): Html =>
  table('Keys and webhooks', columns, made);

export const keepBox = (): Html =>
  checkbox({ name: 'keep_keys', label: 'Keep them working; I take responsibility for them', checked: false });

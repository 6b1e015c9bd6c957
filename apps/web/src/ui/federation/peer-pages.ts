import type { Peer, PeerAgent } from '@acp/contract';
import { FieldErrors } from '../kit/field-errors.ts';
import { count, timeAgo } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { attributes, html, type Html, when } from '../kit/html.ts';
import { plural, t } from '../kit/language.ts';
import { checkbox, formError, input, postButton, status } from '../kit/parts.ts';
import { type Column, table } from '../kit/table.ts';

export const peerColumns: Column<Peer>[] = [
  {
    label: 'Label',
    cell: ({ id, label, url }) =>
      html`<a href="/peers/${id}">${label}</a> <span class="soft small">${new URL(url).host}</span>`,
  },
  { label: 'State', cell: peerState },
  { label: 'Agents', kind: 'number', cell: ({ agents }) => html`${count(agents.length)}` },
  { label: 'Calls', kind: 'number', cell: ({ calls }) => html`${count(calls)}` },
  { label: 'Failed', kind: 'number', cell: ({ errors }) => html`${count(errors)}` },
  { label: 'Last called', cell: ({ last_call_at }) => timeAgo(last_call_at) },
];

function peerState({ enabled, status: of_card }: Peer): Html {
  return status(enabled ? of_card : 'disabled');
}

const agentColumns: Column<PeerAgent>[] = [
  { label: 'Agent', cell: ({ name }) => html`${name}` },
  { label: 'What it does', cell: ({ description }) => html`${description}` },
  { label: 'Version', cell: ({ protocol_version }) => html`${protocol_version}` },
];

type NumberField =
  | 'timeout_seconds'
  | 'rate_limit_rpm'
  | 'refresh_interval_seconds'
  | 'local_preference_bias';

const numbers: readonly { name: NumberField; label: string; hint: string; usual: number }[] = [
  { name: 'timeout_seconds', label: 'Time limit (s)', hint: 'Of one call', usual: 60 },
  { name: 'rate_limit_rpm', label: 'Calls per minute', hint: 'At most', usual: 60 },
  {
    name: 'refresh_interval_seconds',
    label: 'Refresh card every (s)',
    hint: 'How often it is fetched',
    usual: 3600,
  },
  {
    name: 'local_preference_bias',
    label: 'Preference for own agents',
    hint: '0: none; 1: our agents always come first',
    usual: 0.2,
  },
];

/** Form for a new or an existing peer. The key is write-only: it is never shown. */
export function peerForm(
  path: string,
  peer: Peer | null,
  error: string | null,
  form: FormValues | null,
): Html {
  const errors = new FieldErrors(error, ['label', 'url', 'api_key', ...numbers.map(({ name }) => name)]);
  const value = (name: 'label' | 'url'): string => form?.sent(name) ?? peer?.[name] ?? '';
  const fields = numbers.map(({ name, label, hint, usual }) =>
    input({
      name,
      label,
      hint,
      value: form?.sent(name) ?? String(peer?.[name] ?? usual),
      error: errors.of(name),
    }),
  );
  return html`<form class="card" method="post" action="${path}">
    !${when(!peer, () => html`<h2>New peer</h2>`)}!${formError(errors.general)}
    <div class="row">
      !${input({ name: 'label', label: 'Label', required: true, value: value('label'), hint: 'Agents write it before a colon: label:Agent', error: errors.of('label') })}
      !${input({ name: 'url', label: 'URL', type: 'url', required: true, value: value('url'), hint: 'URL of its card, or of the site that serves one', error: errors.of('url') })}
      !${input({ name: 'api_key', label: 'API key', secret: true, value: '', hint: peer?.has_api_key ? 'Empty: unchanged' : 'Never shown again', error: errors.of('api_key') })}
    </div>
    <div class="row">!${fields[0]}!${fields[1]}!${fields[2]}!${fields[3]}</div>
    !${when(peer, ({ enabled }) => checkbox({ name: 'enabled', label: 'Agents may call it', checked: form?.ticked('enabled') ?? enabled }))}
    <button>${peer ? t`Save` : t`Add`}</button>
  </form>`;
}

/** @param awaits whether its card is about to be fetched */
export function healthPart(peer: Peer, awaits: boolean): Html {
  const { agents, last_fetched_at, last_fetch_error, last_call_at, last_call_error, calls, errors } = peer;
  return html`<section class="card">
    <h2>Health</h2>
    <p !${attributes({ 'data-awaits': awaits })}>
      !${peerState(peer)} <span class="soft small">card fetched !${timeAgo(last_fetched_at)}</span>
    </p>
    !${when(last_fetch_error, (why) => html`<p class="error">The card could not be fetched: ${why}</p>`)}
    <p>
      ${plural(calls, '# call, {0} failed', '# calls, {0} failed', errors)}; the last one
      !${timeAgo(last_call_at)}.
    </p>
    !${when(last_call_error, (why) => html`<p class="error">The last call failed: ${why}</p>`)}
    !${postButton(`/peers/${peer.id}/refresh`, 'Fetch the card', { class: 'quiet' })}
    !${agents.length > 0 ? table('Agents of the peer', agentColumns, agents) : html`<p class="soft">No agents are known yet.</p>`}
  </section>`;
}

export function deletePeerPart({ id, label }: Peer): Html {
  return html`<section class="card danger">
    <h2>Delete</h2>
    <p>Work delegated to it is no longer tracked.</p>
    !${postButton(`/peers/${id}/delete`, 'Delete', { class: 'danger', confirm: t`Delete the peer ${label}?` })}
  </section>`;
}

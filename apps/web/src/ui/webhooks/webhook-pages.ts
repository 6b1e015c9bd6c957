import type { Webhook, WebhookDelivery } from '@acp/contract';
import { answeredBy, type Names } from '../kit/answered-by.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { say, t } from '../kit/language.ts';
import { formError, input, postButton, status } from '../kit/parts.ts';
import type { Column } from '../kit/table.ts';

export const webhookColumns = (names: Names): Column<Webhook>[] => [
  { label: 'URL', cell: ({ id, url }) => html`<a href="/webhooks/${id}"><code>${url}</code></a>` },
  { label: 'Events', cell: ({ events }) => html`<code>${events.join(', ')}</code>` },
  { label: 'State', cell: webhookState },
  { label: 'By', cell: (webhook) => answeredBy(names, webhook) },
  { label: 'Last delivered', cell: ({ last_delivered_at }) => timeAgo(last_delivered_at) },
];

function webhookState({ enabled, failing_since }: Webhook): Html {
  if (!enabled) return status('disabled');
  if (failing_since === null) return status('ready');
  return html`!${status('failing')} <span class="soft small">first failed !${timeAgo(failing_since)}</span>`;
}

/** Of the last attempt, or why there was none; one that is sent again has neither yet. */
const outcomeOf = ({ attempts, error, response_status: code }: WebhookDelivery): Html =>
  html`${error === null ? (attempts === 0 ? '' : (code ?? '')) : say(error)}`;

/** @param resends whether one can be sent again: the webhook is switched on */
export const deliveryColumns = (resends: boolean): Column<WebhookDelivery>[] => [
  { label: 'Event', cell: ({ event_type }) => html`<code>${event_type}</code>` },
  {
    label: 'State',
    cell: (delivery) =>
      delivery.status === 'pending'
        ? html`<span data-awaits>!${status(delivery.status)}</span>`
        : status(delivery.status),
  },
  { label: 'Attempts', kind: 'number', cell: ({ attempts }) => html`${attempts}` },
  { label: 'What came of it', cell: outcomeOf },
  { label: 'Made', cell: ({ created_at }) => timeAgo(created_at) },
  ...(resends ? [retry] : []),
];

const retry: Column<WebhookDelivery> = {
  label: 'Retry',
  kind: 'acts',
  cell: ({ id }) =>
    postButton(`/webhook-deliveries/${id}/redeliver`, 'Deliver again', { class: 'quiet small' }),
};

/** Form for a new or an existing webhook. The secret is typed in or generated, and never shown again. */
export function webhookForm(
  path: string,
  webhook: Webhook | null,
  error: string | null,
  form: FormValues | null,
): Html {
  const errors = new FieldErrors(error, ['url', 'events', 'secret']);
  const value = (name: 'url' | 'events'): string =>
    form?.sent(name) ?? (name === 'url' ? webhook?.url : webhook?.events.join(', ')) ?? '';
  return html`<form class="card" method="post" action="${path}">
    !${when(!webhook, () => html`<h2>New webhook</h2>`)}!${formError(errors.general)}
    <div class="row">
      !${input({ name: 'url', label: 'URL', type: 'url', required: true, value: value('url'), error: errors.of('url') })}
      !${input({ name: 'events', label: 'Events', required: true, items: '', value: value('events'), hint: 'Comma-separated patterns: issue.*, approval.created, *', error: errors.of('events') })}
      !${input({ name: 'secret', label: 'Secret', secret: true, value: '', hint: webhook ? 'Empty: it stays as it is' : 'Empty: one is generated and shown once', error: errors.of('secret') })}
    </div>
    <button>${webhook ? t`Save` : t`Add`}</button>
  </form>`;
}

export const webhookSwitch = ({ id, enabled, disabled_reason }: Webhook): Html =>
  html`<section class="card">
    <h2>${enabled ? t`Switch off` : t`Switched off`}</h2>
    !${when(disabled_reason, (reason) => html`<p class="error">By the service: ${say(reason)}.</p>`)}
    <p class="soft">
      ${enabled ? t`Pending deliveries are discarded.` : t`Once enabled again, it receives events from that point on.`}
    </p>
    !${postButton(`/webhooks/${id}/enabled`, enabled ? 'Switch off' : 'Switch on', { class: 'quiet', fields: { enabled: enabled ? '' : 'on' } })}
  </section>`;

export const webhookDeletion = ({ id, url }: Webhook): Html =>
  html`<section class="card danger">
    <h2>Delete</h2>
    <p>Permanent, including its deliveries.</p>
    !${postButton(`/webhooks/${id}/delete`, 'Delete permanently', { class: 'danger', confirm: t`Delete the webhook to ${url}?` })}
  </section>`;

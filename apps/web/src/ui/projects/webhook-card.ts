import { type RepositoryWebhook, repositoryWebhookEndpoints as rows } from '@acp/contract';
import { timeAgo } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { postButton, shownOnce } from '../kit/parts.ts';

interface WebhookView {
  /** Null if there is none. */
  webhook: RepositoryWebhook | null;
  public_url: string;
  /** The secret if it was just created. */
  secret: string | null;
}

/** The webhook by which GitHub or GitLab reports changed pull requests; for admins. */
export function webhookCard(project_id: string, { webhook, public_url, secret }: WebhookView): Html {
  const here = `/projects/${project_id}/webhook`;
  const again = {
    class: 'quiet small',
    confirm: 'The current address and secret stop working immediately. Continue?',
  };
  return html`<section class="card" aria-label="Webhook" id="webhook">
    <h2>Webhook of the repository</h2>
    !${when(secret, (value) => shownOnce('The secret, shown only once:', value))}
    !${
      webhook === null
        ? html`<p class="soft">
              Pull requests are checked every few minutes. With a webhook, their host reports changes
              immediately.
            </p>
            !${postButton(here, 'Create a webhook', { class: 'quiet' })}`
        : html`<p>
              Enter this address and the secret at GitHub or GitLab. GitHub: content type JSON, events for
              pull requests, reviews and checks. GitLab: merge requests, comments and pipelines; the secret as
              signing token or secret token.
            </p>
            <p>
              <code class="address"
                >${public_url}${rows.receive.path.replace('{hookId}', webhook.public_id)}</code
              >
            </p>
            <p class="soft small">
              !${
                webhook.received_at === null
                  ? t`Nothing received yet.`
                  : html`Last received: ${webhook.last_event ?? t`something`} !${timeAgo(webhook.received_at)}`
              }
            </p>
            <div class="buttons">
              !${postButton(here, 'New address and secret', again)}
              !${postButton(`${here}/delete`, 'Delete', { class: 'danger small', confirm: 'The host’s requests will be refused. Continue?' })}
            </div>`
    }
  </section>`;
}

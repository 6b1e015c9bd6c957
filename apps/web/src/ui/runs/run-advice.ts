/** A failure in words, with the next step: by the error's category. */
import { html, type Html } from '../kit/html.ts';

interface Place {
  company_id: string;
  agent_id: string;
  /** Providers are set up by admins. */
  is_admin: boolean;
}

const advice: Record<string, (place: Place) => Html> = {
  auth: ({ company_id, is_admin }) =>
    is_admin
      ? html`The provider refused the key. <a href="/companies/${company_id}/providers">Enter a new one</a>,
          test it, and run the agent again.`
      : html`The provider refused the key. An admin can enter a new one.`,
  quota: ({ company_id, is_admin }) =>
    is_admin
      ? html`The provider has no quota left for the key. It is tried again when its pause ends;
          <a href="/companies/${company_id}/providers">another provider</a> would be tried immediately.`
      : html`The provider has no quota left for the key. It is tried again when its pause ends.`,
  config: ({ agent_id }) =>
    html`Something in the agent’s settings keeps it from running.
      <a href="/agents/${agent_id}/settings">Look at its adapter, model and provider</a>; the adapter can be
      tested there.`,
  transient: () => html`The provider or the network failed temporarily. Running it again usually helps.`,
  timeout: ({ agent_id }) =>
    html`It exceeded its time limit. <a href="/agents/${agent_id}/settings">Give it more time</a>, or a
      smaller task.`,
  permanent: ({ agent_id }) =>
    html`The provider rejected the request, often because of an unknown model.
      <a href="/agents/${agent_id}/settings">Check the model</a>.`,
  budget: ({ company_id }) =>
    html`A budget is used up. <a href="/companies/${company_id}/budgets">Raise or resolve it</a>, and run the
      agent again.`,
  lost: () =>
    html`The run’s scheduler is gone. The run was retried once unless it had already changed something; check
    what it did before you run it again.`,
  internal: () =>
    html`The service itself failed. The scheduler’s log has more under the run’s id; please report it.`,
};

/** '' if there is no advice for the category beyond the error itself. */
export function runAdvice(category: string | null, place: Place): Html {
  const words = category === null || !Object.hasOwn(advice, category) ? undefined : advice[category];
  return words === undefined ? '' : html`<p class="small">!${words(place)}</p>`;
}

import { type Provider, providerFamilies, type ProviderTest } from '@acp/contract';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeLeft } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { plural, say, t } from '../kit/language.ts';
import { checkbox, formError, input, postButton, select, status, textarea } from '../kit/parts.ts';
import type { Column } from '../kit/table.ts';
import { vendorOf } from './connect-pages.ts';
import { stateOf } from './provider-state.ts';

export const providerColumns: Column<Provider>[] = [
  { label: 'Name', cell: ({ id, name }) => html`<a href="/providers/${id}">${name}</a>` },
  { label: 'Vendor', cell: ({ adapter_type }) => html`${vendorOf(adapter_type)}` },
  { label: 'State', cell: providerState },
  { label: 'Key', cell: ({ has_api_key }) => html`${has_api_key ? t`stored` : t`none`}` },
  {
    label: 'Model',
    cell: ({ default_model, is_default }) =>
      html`${default_model ?? ''}!${when(is_default, () => html` !${status('default')}`)}`,
  },
  { label: 'Embeddings', cell: ({ embeddings }) => html`${embeddings ? t`designated` : ''}` },
];

function providerState(provider: Provider): Html {
  const state = stateOf(provider);
  const pause = state === 'paused' ? provider.paused_until : null;
  return html`!${status(state)}!${when(pause, (until) => html` <span class="soft small">!${timeLeft(until)}</span>`)}`;
}

/** Form for a new or an existing provider. Keys and headers are write-only: they are never shown. */
export function providerForm(
  path: string,
  provider: Provider | null,
  error: string | null,
  form: FormValues | null,
): Html {
  const fields = [
    'name',
    'adapter_type',
    'base_url',
    'api_key',
    'custom_headers',
    'default_model',
    'embedding_model',
  ];
  const errors = new FieldErrors(error, fields, { 'this name': 'name' });
  const value = (name: 'name' | 'base_url' | 'default_model' | 'embedding_model'): string =>
    form?.sent(name) ?? provider?.[name] ?? '';
  const kept = (has: boolean | undefined): string => (has ? t`Empty: unchanged` : t`Never shown again`);
  const families = providerFamilies.map((family) => ({
    value: family,
    label: vendorOf(family),
  }));
  return html`<form class="card" method="post" action="${path}">
    !${when(!provider, () => html`<h2>New provider</h2>`)}!${formError(errors.general)}
    <div class="row">
      !${input({ name: 'name', label: 'Name', required: true, value: value('name'), error: errors.of('name') })}
      !${select({ name: 'adapter_type', label: 'Vendor', value: form?.text('adapter_type') || provider?.adapter_type, choices: families, error: errors.of('adapter_type') })}
      !${input({ name: 'base_url', label: 'Base URL', type: 'url', value: value('base_url'), hint: 'Empty: the vendor’s own; your own endpoint needs one', error: errors.of('base_url') })}
    </div>
    !${textarea({ name: 'api_key', label: 'API key', secret: true, rows: 2, mono: true, hint: t`${kept(provider?.has_api_key)}. For a cloud, the credentials as JSON`, error: errors.of('api_key') })}
    !${textarea({ name: 'custom_headers', label: 'Additional headers (JSON)', secret: true, rows: 2, mono: true, hint: kept(provider?.has_custom_headers), error: errors.of('custom_headers') })}
    !${input({ name: 'default_model', label: 'Model', value: value('default_model'), hint: 'Of agents that name none', error: errors.of('default_model') })}
    !${checkbox({ name: 'is_default', label: 'Used by agents that name no provider', checked: form?.ticked('is_default') ?? provider?.is_default ?? false })}
    !${input({ name: 'embedding_model', label: 'Model for embeddings', value: value('embedding_model'), hint: 'Empty: the engine’s default', error: errors.of('embedding_model') })}
    !${checkbox({ name: 'embeddings', label: 'Compute embeddings here', checked: form?.ticked('embeddings') ?? provider?.embeddings ?? false })}
    !${checkbox({ name: 'enabled', label: 'Agents may use it', checked: form?.ticked('enabled') ?? provider?.enabled ?? true })}
    <button>${provider ? t`Save` : t`Add`}</button>
  </form>`;
}

export function testPart(provider: Provider, tested: ProviderTest | null): Html {
  const { id, pause_reason } = provider;
  const said = ({ ok, model_count, latency_ms, error }: ProviderTest): Html =>
    ok
      ? html`<p class="notice good" role="status">
          It answered in ${latency_ms}
          ms${model_count === null ? '' : plural(model_count, ' with # model', ' with # models')}.
        </p>`
      : html`<p class="error form-error" role="alert">${say(error ?? 'It did not answer.')}</p>`;
  return html`<section class="card">
    <h2>Test</h2>
    !${when(stateOf(provider) === 'paused' && pause_reason, (reason) => html`<p class="error">Paused: ${say(reason)}</p>`)}!${when(tested, said)}
    <p class="soft">A scheduler asks for the list of models with the stored key; nothing is spent.</p>
    !${postButton(`/providers/${id}/test`, 'Test it', { class: 'quiet' })}
  </section>`;
}

export function deletePart({ id, name }: Provider): Html {
  return html`<section class="card danger">
    <h2>Delete</h2>
    <p>Permanent, and only possible while no agent uses it.</p>
    !${postButton(`/providers/${id}/delete`, 'Delete permanently', { class: 'danger', confirm: t`Delete ${name}?` })}
  </section>`;
}

import type { Provider, ProviderFamily, ProviderTest } from '@acp/contract';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { attributes, html, type Html, when } from '../kit/html.ts';
import { plural, say, t } from '../kit/language.ts';
import { formError, input, notice, select } from '../kit/parts.ts';

interface Vendor {
  label: string;
  family: ProviderFamily;
}

/** Vendors by their common names; the first one is preselected. */
const vendors: Readonly<Record<string, Vendor>> = {
  own: { label: 'An endpoint of your own', family: 'family_compat' },
  openai: { label: 'OpenAI', family: 'family_chat_a' },
  anthropic: { label: 'Anthropic', family: 'family_chat_b' },
  perplexity: { label: 'Perplexity', family: 'family_search' },
  bedrock: { label: 'Amazon Bedrock', family: 'family_cloud' },
};

/** The vendor's common name. */
export function vendorOf(family: ProviderFamily): string {
  const vendor = Object.values(vendors).find((known) => known.family === family);
  return say(vendor?.label ?? family);
}

const hostOf = (url: string | null | undefined): string =>
  url && URL.canParse(url) ? new URL(url).host : '';

/** Maps the form to a provider: named by its vendor, or by the host of an endpoint, unless that name was taken. */
export function readVendor(form: FormValues) {
  const base_url = form.cleared('base_url');
  const chosen = form.text('vendor');
  const vendor = Object.hasOwn(vendors, chosen) ? vendors[chosen] : undefined;
  const host = hostOf(base_url);
  return {
    name: form.sent('name') ?? (chosen === 'own' && host !== '' ? host : (vendor?.label ?? '')),
    adapter_type: vendor?.family,
    base_url,
    api_key: form.given('api_key')?.trim(),
  };
}

/** A provider that is named by its host keeps being so. An empty key leaves the stored one unchanged. */
export function readEndpoint(form: FormValues) {
  const base_url = form.cleared('base_url');
  const host = hostOf(base_url);
  return {
    name: form.has('by_host') && host !== '' ? host : undefined,
    base_url,
    api_key: form.given('api_key')?.trim(),
  };
}

interface ConnectForm {
  path: string;
  /** Whether an encryption key is set. */
  stores_keys: boolean;
  error: string | null;
  form: FormValues | null;
}

const cannotStoreKeys = (): string =>
  t`Can’t be stored until the operator sets SERVICE_ENCRYPTION_KEY, or runs ctl secrets make-key and starts the service again; endpoints without a key work`;

/** The first half of connecting a model: its endpoint and key. */
export function connectForm({ path, stores_keys, error, form }: ConnectForm): Html {
  const fields = ['vendor', 'base_url', 'api_key', 'name'];
  const errors = new FieldErrors(error, fields, { adapter_type: 'vendor', 'this name': 'name' });
  const taken = form !== null && (form.has('name') || errors.of('name') !== null) && form;
  const choices = Object.entries(vendors).map(([value, { label }]) => ({ value, label: say(label) }));
  const key_hint = stores_keys
    ? t`Stored encrypted. For Bedrock, the credentials as JSON`
    : cannotStoreKeys();
  return html`<form method="post" action="${path}">
    !${formError(errors.general)}
    <div class="row">
      !${select({ name: 'vendor', label: 'Vendor', value: form?.text('vendor') || 'own', choices, autofocus: true, error: errors.of('vendor') })}
      !${input({ name: 'base_url', label: 'Base URL', type: 'url', value: form?.text('base_url') ?? '', hint: 'Of your own endpoint (Ollama, vLLM, LM Studio, a gateway), including /v1', error: errors.of('base_url') })}
      !${input({ name: 'api_key', label: 'API key', type: 'password', hint: key_hint, error: errors.of('api_key') })}
    </div>
    !${when(taken, (typed) => input({ name: 'name', label: 'Name', required: true, value: readVendor(typed).name, error: errors.of('name') }))}
    <button>Connect</button>
  </form>`;
}

/** Placeholder until the provider has answered; without script a link leads to the answer. */
export function askingPart({ id, name }: Provider): Html {
  return html`<div data-load data-source="/providers/${id}/connect/part/model" aria-live="polite">
    <section class="card" aria-busy="true">
      <h2>Which model?</h2>
      <p class="soft">Asking ${name} for its models …</p>
      <p data-noscript><a href="/providers/${id}/connect?answer=1">Wait for the answer</a></p>
    </section>
  </div>`;
}

/** Models with output other than text are listed last. */
const elsewise = /embed|whisper|tts|dall-e|image|audio|moderation|rerank|realtime|transcribe|sora|veo/i;

/** The second half: the model for agents that name none. */
export function modelPart(
  provider: Provider,
  tested: ProviderTest & { stores_keys: boolean },
  error: string | null,
  form: FormValues | null,
): Html {
  const isOfModel = form?.has('default_model') === true;
  const errors = new FieldErrors(isOfModel ? error : null, ['default_model']);
  const models = (tested.models ?? []).toSorted(
    (a, b) => Number(elsewise.test(a)) - Number(elsewise.test(b)),
  );
  const value = form?.text('default_model') || provider.default_model || models[0] || '';
  const common = {
    name: 'default_model',
    label: 'Model',
    value,
    autofocus: tested.ok,
    error: errors.of('default_model'),
  };
  const choice =
    models.length > 0
      ? select({ ...common, choices: models.map((id) => ({ value: id, label: id })) })
      : input({ ...common, required: true, hint: 'As the vendor writes it' });
  return html`!${tested.ok ? '' : unansweredPart(provider, tested, isOfModel ? null : error, form)}
    <section class="card">
      <h2>!${tested.ok ? html`Which model?` : html`Or name a model yourself`}</h2>
      !${when(tested.ok, () => answeredNotice(tested))}
      <form method="post" action="/providers/${provider.id}/connect">
        !${formError(errors.general)}
        <p class="soft">Used by every agent that names no other. It can be changed at any time.</p>
        !${choice}
        <button !${attributes({ class: tested.ok ? null : 'quiet' })}>Use this model</button>
      </form>
    </section>`;
}

const answeredNotice = ({ model_count, latency_ms }: ProviderTest): Html =>
  notice(
    plural(
      model_count ?? 0,
      'It answered in {0} ms with # model.',
      'It answered in {0} ms with # models.',
      latency_ms,
    ),
  );

/** Nearly always, the address or the key is wrong: both are corrected here, without a way to another page and back. */
function unansweredPart(
  provider: Provider,
  tested: ProviderTest & { stores_keys: boolean },
  error: string | null,
  form: FormValues | null,
): Html {
  const { id, name, base_url, has_api_key } = provider;
  const errors = new FieldErrors(error, ['base_url', 'api_key']);
  const by_host = name === hostOf(base_url);
  const key_hint = tested.stores_keys
    ? has_api_key
      ? t`Empty: unchanged`
      : t`Never shown again`
    : cannotStoreKeys();
  return html`<section class="card">
    <h2>${name} could not be asked for its models</h2>
    <p class="error form-error" role="alert">${say(tested.error ?? 'It did not answer.')}</p>
    <form method="post" action="/providers/${id}/connect/endpoint">
      !${formError(errors.general)}!${when(by_host, () => html`<input type="hidden" name="by_host" value="yes" />`)}
      <div class="row">
        !${input({ name: 'base_url', label: 'Base URL', type: 'url', value: form?.text('base_url') ?? base_url, autofocus: true, hint: 'Empty: the vendor’s own; your own endpoint needs one', error: errors.of('base_url') })}
        !${input({ name: 'api_key', label: 'API key', type: 'password', hint: key_hint, error: errors.of('api_key') })}
      </div>
      <button>Try again</button>
    </form>
  </section>`;
}

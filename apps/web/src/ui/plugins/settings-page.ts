import { defaultCapabilities } from '@acp/contract';
import { presentPlugin } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { checkbox, formError, input, postButton, textarea } from '../kit/parts.ts';
import { doneNotice, type PluginContext, pluginPage } from './plugin-frame.ts';
import { capabilityMeaning } from './state-parts.ts';

const texts = ['name', 'version', 'description', 'binary_path', 'binary_hash'] as const;
/** Secrets are granted individually, by name. */
const grantable = [...defaultCapabilities, 'kv', 'issues.read', 'issues.comment', 'metrics'] as const;
const SECRET = 'secret:';

const boxOf = (capability: string): string => `may_${capability}`;

export async function settingsPage(
  context: PluginContext,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { id, name, ...plugin } = presentPlugin(context.subject);
  const errors = new FieldErrors(error, [...texts, 'config', 'secrets'], { host_capabilities: 'secrets' });
  const value = (field: (typeof texts)[number]): string =>
    form?.sent(field) ?? (field === 'name' ? name : plugin[field]) ?? '';
  const field = (of: (typeof texts)[number], label: string, hint?: string): Html =>
    input({ name: of, label, value: value(of), error: errors.of(of), required: of === 'name', hint });
  const config = plugin.config === null ? '' : JSON.stringify(plugin.config, null, 2);
  const secrets = plugin.host_capabilities
    .filter((capability) => capability.startsWith(SECRET))
    .map((capability) => capability.slice(SECRET.length));
  const held = (capability: string): boolean =>
    form?.ticked(boxOf(capability)) ?? plugin.host_capabilities.includes(capability);
  const path = `/plugins/${id}/settings`;
  const fields = html`<form class="card" method="post" action="${path}">
    <h2>Settings</h2>
    !${formError(errors.general)}
    <div class="row">!${field('name', t`Name`)}!${field('version', t`Version`)}</div>
    !${field('description', t`Description`)}
    <div class="row">
      !${field('binary_path', t`Binary`, t`Another file needs a separate approval`)}
      !${field('binary_hash', 'SHA-256', t`Any other file is then rejected`)}
    </div>
    !${textarea({ name: 'config', label: 'Configuration', mono: true, rows: 8, value: form?.sent('config') ?? config, hint: 'JSON. "${secret:NAME}" is filled in at the start', error: errors.of('config') })}
    <h3>What it may do</h3>
    !${each(grantable, (capability) => checkbox({ name: boxOf(capability), label: capabilityMeaning(capability), checked: held(capability) }))}
    !${input({ name: 'secrets', label: 'Secrets that it may read', items: '', value: form?.sent('secrets') ?? secrets.join(', '), hint: 'Comma-separated names', error: errors.of('secrets') })}
    <button>Save</button>
  </form>`;
  const body = html`!${doneNotice(context)}!${await asShown(fields, form)}
    <section class="card danger">
      <h2>Delete</h2>
      <p>Permanent, including its values, log and history. Its process is stopped.</p>
      !${postButton(`/plugins/${id}/delete`, 'Delete permanently', { class: 'danger', confirm: t`Delete ${name}?` })}
    </section>`;
  return pluginPage(context, '/settings', body);
}

export const readSettings = (form: FormValues) => ({
  name: form.sent('name')?.trim(),
  version: form.cleared('version'),
  description: form.cleared('description'),
  binary_path: form.cleared('binary_path'),
  binary_hash: form.cleared('binary_hash'),
  config: form.has('config') ? (form.json('config') ?? null) : undefined,
  host_capabilities: ['secrets', ...grantable.map(boxOf)].some((name) => form.has(name))
    ? capabilitiesIn(form.whole)
    : undefined,
});

const capabilitiesIn = (form: FormValues): string[] => [
  ...grantable.filter((capability) => form.checked(boxOf(capability))),
  ...new Set(
    form
      .text('secrets')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => SECRET + name),
  ),
];

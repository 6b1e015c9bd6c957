/** The form of an agent's configuration. */
import { type Agent, adapterTypes, agentRoles, type Provider } from '@acp/contract';
import { adapterChoices } from '../kit/adapter-names.ts';
import { choice, type Offer } from '../kit/choice.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { checkbox, formError, input, select, textarea } from '../kit/parts.ts';
import { providerChoices } from '../providers/provider-state.ts';

export interface FormChoices {
  /** Whom it can report to. */
  bosses: Offer;
  /** The company's providers; null if the reader may not see them. */
  providers: readonly Provider[] | null;
}

/** A rejected agent form, with what was typed. */
export interface Refused {
  error: string;
  form: FormValues;
}

const textFields = [
  'name',
  'role',
  'title',
  'reports_to',
  'adapter_type',
  'adapter_config',
  'model',
  'provider_id',
  'system_prompt',
  'heartbeat_interval_sec',
] as const;
type TextField = Exclude<(typeof textFields)[number], 'adapter_config'>;

/**
 * Form for a new or an existing agent.
 * @param agent of a new one, what the company has its agents start with
 */
export function agentForm(
  path: string,
  { bosses: all, providers }: FormChoices,
  agent: Partial<Agent>,
  refused: Refused | null,
): Html {
  const typed = refused?.form ?? null;
  const errors = new FieldErrors(refused?.error ?? null, textFields, { configuration: 'adapter_config' });
  const value = (name: TextField): string => typed?.sent(name) ?? (agent[name] ?? '').toString();
  const bosses = { ...all, listed: all.listed.filter(({ id }) => id !== agent.id) };
  const config = typed?.sent('adapter_config') ?? JSON.stringify(agent.adapter_config, null, 2);
  const pairs = (values: readonly string[]) => values.map((item) => ({ value: item, label: words(item) }));
  return html`<form method="post" action="${path}">
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'name', label: 'Name', value: value('name'), required: true, error: errors.of('name') })}
      !${select({ name: 'role', label: 'Role', value: value('role') || 'general', choices: pairs(agentRoles), error: errors.of('role') })}
      !${input({ name: 'title', label: 'Title', value: value('title'), error: errors.of('title') })}
    </div>
    <div class="row">
      !${choice({ name: 'reports_to', label: 'Reports to', value: value('reports_to'), offer: bosses, fixed: [{ value: '', label: t`nobody` }], error: errors.of('reports_to') })}
      !${select({ name: 'adapter_type', label: 'Adapter', value: value('adapter_type') || 'llm', choices: adapterChoices(adapterTypes), error: errors.of('adapter_type') })}
      !${when(providers, (known) => select({ name: 'provider_id', label: 'Provider', value: value('provider_id'), choices: [{ value: '', label: t`the default` }, ...providerChoices(known)], error: errors.of('provider_id') }))}
      !${input({ name: 'model', label: 'Model', value: value('model'), hint: 'Empty: the default', error: errors.of('model') })}
    </div>
    !${textarea({ name: 'system_prompt', label: 'System prompt', value: value('system_prompt'), rows: 8, hint: 'Empty for a new agent: its role’s default', error: errors.of('system_prompt') })}
    !${textarea({ name: 'adapter_config', label: 'Adapter configuration (JSON)', value: config, rows: 4, mono: true, error: errors.of('adapter_config') })}
    !${checkbox({ name: 'heartbeat_enabled', label: 'Wake it on a heartbeat', checked: typed?.has('heartbeat_enabled') ? typed.checked('heartbeat_enabled') : agent.heartbeat_enabled === true })}
    !${checkbox({ name: 'externally_available', label: 'External agents may call it (A2A); its name, description and skills are then public', checked: typed?.has('externally_available') ? typed.checked('externally_available') : agent.externally_available === true })}
    !${checkbox({ name: 'auto_extract_findings', label: 'After its runs, a model records findings that others should know', checked: typed?.has('auto_extract_findings') ? typed.checked('auto_extract_findings') : agent.auto_extract_findings === true })}
    !${input({ name: 'heartbeat_interval_sec', label: 'Seconds between heartbeats', type: 'number', min: 1, value: value('heartbeat_interval_sec'), error: errors.of('heartbeat_interval_sec') })}
    <button>${agent.id === undefined ? t`Hire` : t`Save`}</button>
  </form>`;
}

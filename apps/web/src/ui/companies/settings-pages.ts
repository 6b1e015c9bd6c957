/** Company settings, for admins: each section is a form of its own, with its own error. */
import {
  adapterTypes,
  type AgentDefaults,
  type Company,
  type Logo,
  logoThemes,
  logoTypes,
} from '@acp/contract';
import { adapterChoices } from '../kit/adapter-names.ts';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { checkbox, formError, input, notice, postButton, select, textarea } from '../kit/parts.ts';

export type Section = 'general' | 'logo' | 'agents' | 'delete';

/** A rejected form. */
export interface Refused {
  section: Section;
  error: string;
  form: FormValues;
}

export interface SettingsView {
  company: Company;
  defaults: AgentDefaults;
  logo: Logo | null;
  done: string | null;
  refused: Refused | null;
}

export async function settingsBody(view: SettingsView): Promise<Html> {
  return html`!${notice(view.done)}
    !${await asShown(generalForm(view), typedIn(view, 'general').form)}!${logoPart(view)}!${await asShown(defaultsForm(view), typedIn(view, 'agents').form)}
    <section class="card">
      <h2>Export and import</h2>
      <p>
        <a href="/companies/${view.company.id}/portability">Download the company as a file</a>, or add the
        contents of another one or a ready-made team.
      </p>
    </section>
    !${deletePart(view)}`;
}

/** The input if this section was rejected, else the stored values. */
function typedIn({ refused }: SettingsView, section: Section) {
  const form = refused?.section === section ? refused.form : null;
  return { form, error: form && refused ? refused.error : null };
}

function generalForm(view: SettingsView): Html {
  const { company } = view;
  const { form, error } = typedIn(view, 'general');
  const errors = new FieldErrors(error, ['name', 'slug', 'home_dir', 'default_worker_tags']);
  const value = (name: 'name' | 'slug' | 'home_dir'): string => form?.sent(name) ?? company[name] ?? '';
  const tags = form?.sent('default_worker_tags') ?? company.default_worker_tags.join(', ');
  return html`<form class="card" method="post" action="/companies/${company.id}/settings">
    <h2>General</h2>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'name', label: 'Name', value: value('name'), required: true, error: errors.of('name') })}
      !${input({ name: 'slug', label: 'Slug', value: value('slug'), required: true, hint: 'a-z, 0-9 and hyphens', error: errors.of('slug') })}
    </div>
    <div class="row">
      !${input({ name: 'home_dir', label: 'Home folder', value: value('home_dir'), hint: 'Empty: the company’s folder in the service’s home', error: errors.of('home_dir') })}
      !${input({ name: 'default_worker_tags', label: 'Tags of remote workers', items: '', value: tags, hint: 'Comma-separated; tasks go to workers that have all of them', error: errors.of('default_worker_tags') })}
    </div>
    !${checkbox({ name: 'require_second_factor', label: 'Members must have a second factor to sign in', checked: form?.ticked('require_second_factor') ?? company.require_second_factor })}
    <p class="soft">
      The history of the company’s keys is in its
      <a href="/companies/${company.id}/settings/security">security log</a>.
    </p>
    <button>Save</button>
  </form>`;
}

function logoPart(view: SettingsView): Html {
  const { company, logo } = view;
  const { form, error } = typedIn(view, 'logo');
  const errors = new FieldErrors(error, ['theme'], { file: 'file', logo: 'file', payload: 'file' });
  const base = `/companies/${company.id}/logo`;
  const now = when(
    logo,
    ({ asset_id, theme, updated_at }) =>
      html`<p class="logo" data-theme="${theme}">
          <img src="/api${base}/image?v=${asset_id ?? ''}" alt="The logo of ${company.name}" />
        </p>
        <p class="soft small">Set !${timeAgo(updated_at)}, for ${words(theme)} backgrounds.</p>`,
  );
  const file = errors.of('file');
  return html`<section class="card">
    <h2>Logo</h2>
    !${formError(errors.general)}!${now}
    <form method="post" action="${base}" enctype="multipart/form-data" class="row">
      <div class="field!${file ? ' has-error' : ''}">
        <label for="f-file">${logo ? t`Another image` : t`Image`}</label>
        <input
          id="f-file"
          name="file"
          type="file"
          required
          accept="${logoTypes.join(',')}"
          aria-describedby="h-file"
        />
        <p class="hint" id="h-file">PNG, JPEG, GIF or WebP; 1 MB and 2000 × 2000 pixels at most</p>
        !${when(file, (text) => html`<p class="error" role="alert">${text}</p>`)}
      </div>
      !${select({ name: 'theme', label: 'Made for', value: form?.text('theme') || logo?.theme, choices: logoThemes.map((theme) => ({ value: theme, label: t`${words(theme)} backgrounds` })) })}
      <button>${logo ? t`Replace` : t`Upload`}</button>
    </form>
    !${when(logo, () => postButton(`${base}/delete`, 'Remove the logo', { class: 'danger small', confirm: 'Remove the logo?' }))}
  </section>`;
}

function defaultsForm(view: SettingsView): Html {
  const { company, defaults } = view;
  const { form, error } = typedIn(view, 'agents');
  const fields = ['adapter_type', 'adapter_config', 'heartbeat_interval_sec'];
  const errors = new FieldErrors(error, fields, { adapter: 'adapter_config' });
  const config = form?.sent('adapter_config') ?? JSON.stringify(defaults.adapter_config, null, 2);
  const types = [...new Set<string>([...adapterTypes, defaults.adapter_type])];
  return html`<form class="card" method="post" action="/companies/${company.id}/settings/agents">
    <h2>New agents</h2>
    <p class="soft">Used for new agents unless set otherwise. Existing agents keep what they have.</p>
    !${formError(errors.general)}
    <div class="row">
      !${select({ name: 'adapter_type', label: 'Adapter', value: form?.sent('adapter_type') ?? defaults.adapter_type, choices: adapterChoices(types), error: errors.of('adapter_type') })}
      !${input({ name: 'heartbeat_interval_sec', label: 'Seconds between heartbeats', type: 'number', min: 1, value: form?.sent('heartbeat_interval_sec') ?? defaults.heartbeat_interval_sec, error: errors.of('heartbeat_interval_sec') })}
    </div>
    !${textarea({ name: 'adapter_config', label: 'Adapter configuration (JSON)', value: config, rows: 4, mono: true, error: errors.of('adapter_config') })}
    !${checkbox({ name: 'heartbeat_enabled', label: 'Wake them on a heartbeat', checked: form?.ticked('heartbeat_enabled') ?? defaults.heartbeat_enabled })}
    <button>Save</button>
  </form>`;
}

function deletePart(view: SettingsView): Html {
  const { company } = view;
  const { general } = new FieldErrors(typedIn(view, 'delete').error);
  return html`<form class="card danger" method="post" action="/companies/${company.id}/delete">
    <h2>Delete the company</h2>
    <p>
      Its runs are cancelled, its schedules stop, its keys are revoked permanently. An instance admin can
      restore it from the trash for a while.
    </p>
    <div class="row">
      !${input({ name: 'slug', id: 'confirm-slug', label: t`Type ${company.slug} to confirm`, required: true, error: general })}
      <button class="danger">Delete</button>
    </div>
  </form>`;
}

/** An agent's settings: configuration, permissions, keys, home folder and sessions, earlier configurations. */
import type {
  AdapterTest,
  Agent,
  AgentHome,
  AgentKey,
  ConfigurationRevision,
  TaskSession,
} from '@acp/contract';
import { asShown } from '../kit/as-shown.ts';
import { answeredBy, type Names } from '../kit/answered-by.ts';
import { timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { checkbox, input, postButton, shownOnce, status, tabs } from '../kit/parts.ts';
import { textDiff } from '../kit/text-diff.ts';
import { type Column, table } from '../kit/table.ts';
import { agentForm, type FormChoices, type Refused } from './agent-form.ts';

export function agentTabs(id: string, active: string): Html {
  const path = `/agents/${id}`;
  const items = [
    { label: t`Overview`, path },
    { label: t`Settings`, path: `${path}/settings` },
    { label: t`Prompts`, path: `${path}/prompts` },
    { label: t`Files and skills`, path: `${path}/files` },
  ];
  return tabs('Agent', items, active);
}

export interface SettingsView extends FormChoices {
  id: string;
  agent: Agent;
  permissions: Readonly<Record<string, boolean>>;
  keys: readonly AgentKey[];
  /** Users who answer for the keys. */
  key_names: Names;
  revisions: readonly ConfigurationRevision[];
  /** Names of users and agents, by id. */
  names: ReadonlyMap<string, string>;
  home: AgentHome;
  sessions: readonly TaskSession[];
  can_write: boolean;
  /** Outcome of the action just performed. */
  outcome: SettingsOutcome;
}

export interface SettingsOutcome {
  /** A rejected configuration. */
  refused?: Refused;
  tested?: AdapterTest;
  /** A newly minted key, shown only once. */
  raw_key?: string;
}

export async function settingsBody(view: SettingsView): Promise<Html> {
  const { id, home, can_write } = view;
  return html`!${agentTabs(id, `/agents/${id}/settings`)}
    !${when(view.outcome.raw_key, (key) => shownOnce('The new key, shown only once:', key))}
    !${can_write ? await configurationCard(view) : ''}
    <section class="card">
      <h2>Permissions</h2>
      !${can_write ? await permissionsForm(id, view.permissions) : permissionList(view.permissions)}
    </section>
    <section class="card">
      <h2>Keys</h2>
      !${keysPart(view)}
    </section>
    <section class="card">
      <h2>Home and sessions</h2>
      <p>
        The agent’s programs run in
        <code>${home.home_dir}</code>${home.is_override ? t`, a separate folder.` : '.'}
      </p>
      !${when(view.sessions.length > 0 && view.sessions, (sessions) => table('Task sessions', sessionColumns, sessions))}
      !${when(can_write, () => postButton(`/agents/${id}/clear-session`, 'Forget the CLI session', { confirm: 'The next run starts a new session. Discard this one?' }))}
    </section>
    <section class="card">
      <h2>Earlier configurations</h2>
      !${revisionList(view)}
    </section>`;
}

async function configurationCard({ id, agent, bosses, providers, outcome }: SettingsView): Promise<Html> {
  return html`<section class="card">
    <h2>Configuration</h2>
    !${await asShown(agentForm(`/agents/${id}/edit`, { bosses, providers }, agent, outcome.refused ?? null), outcome.refused?.form ?? null)}
    <div class="apart">!${when(outcome.tested, testResult)}!${adapterTest(id)}</div>
  </section>`;
}

function adapterTest(id: string): Html {
  return html`<p class="soft">A test is one small real call through the adapter, made by a scheduler.</p>
    !${postButton(`/agents/${id}/test-adapter`, 'Test the adapter')}`;
}

function testResult({ ok, latency_ms, detail, error }: AdapterTest): Html {
  return ok
    ? html`<p class="notice good" role="status">
        It works, in ${latency_ms} ms${detail === null ? '.' : `: ${detail}`}
      </p>`
    : html`<p class="error form-error" role="alert">${error ?? t`It did not answer.`}</p>`;
}

const hints: Readonly<Record<string, string>> = texts({
  'agents.create': 'hire colleagues; otherwise it asks for approval',
  'secrets.use': 'reference secrets in a configuration; granted by admins',
});

function permissionsForm(id: string, permissions: Readonly<Record<string, boolean>>): Promise<Html> {
  const boxes = each(Object.entries(permissions), ([key, on]) =>
    checkbox({ name: key, label: hints[key] ? `${key}: ${hints[key]}` : key, checked: on }),
  );
  return asShown(
    html`<form method="post" action="/agents/${id}/permissions">
      <div class="choices">!${boxes}</div>
      <button>Save</button>
    </form>`,
  );
}

const permissionList = (permissions: Readonly<Record<string, boolean>>): Html =>
  html`<ul>
    !${each(Object.entries(permissions), ([key, on]) => html`<li><code>${key}</code> ${on ? t`yes` : t`no`}</li>`)}
  </ul>`;

function keysPart({ id, keys, key_names, can_write }: SettingsView): Html {
  const row = (key: AgentKey): Html =>
    html`<li>
      <code>${key.key_prefix}…</code> <span class="grow">${key.label ?? ''}</span>
      <span class="soft small">!${answeredBy(key_names, key)} !${timeAgo(key.created_at)}</span>
      !${when(can_write, () => postButton(`/agent-keys/${key.id}/revoke`, 'Revoke', { class: 'link small', confirm: 'Revoke this key?' }))}
    </li>`;
  const list =
    keys.length > 0
      ? html`<ul class="list">
          !${each(keys, row)}
        </ul>`
      : html`<p class="soft">No keys. An agent that runs elsewhere needs one.</p>`;
  const mint = html`<form method="post" action="/agents/${id}/keys" class="row">
    !${input({ name: 'label', label: 'Label of a new key' })}<button class="quiet">Mint a key</button>
  </form>`;
  return html`!${list}!${when(can_write, () => mint)}`;
}

function revisionList({ revisions, names }: SettingsView): Html {
  if (revisions.length === 0) return html`<p class="soft">No revisions yet.</p>`;
  return each(
    revisions,
    (revision, at) =>
      html`<details>
        <summary>
          !${timeAgo(revision.created_at)}
          <span class="soft">
            by
            ${revision.created_by === null ? t`the service` : (names.get(revision.created_by) ?? t`someone who has left`)}!${when(revision.reason, (reason) => html` · ${words(reason)}`)}
          </span>
        </summary>
        !${configurationOf(revision, revisions[at + 1])}
      </details>`,
  );
}

const written = ({ config_json }: ConfigurationRevision): string => JSON.stringify(config_json, null, 2);

/** The diff to the previous revision and the full configuration; only the latter for the first one. */
function configurationOf(revision: ConfigurationRevision, before: ConfigurationRevision | undefined): Html {
  const whole = html`<pre>${written(revision)}</pre>`;
  if (before === undefined) return whole;
  return html`!${textDiff(written(before), written(revision))}
    <details>
      <summary>All of it</summary>
      !${whole}
    </details>`;
}

const sessionColumns: Column<TaskSession>[] = [
  { label: 'Issue', cell: ({ issue_id }) => html`<a href="/issues/${issue_id}">issue</a>` },
  { label: 'Status', cell: (session) => status(session.status) },
  { label: 'Last message', cell: ({ summary }) => html`<span class="prose">${summary ?? ''}</span>` },
  { label: 'Run', cell: ({ run_id }) => when(run_id, (run) => html`<a href="/runs/${run}">run</a>`) },
  { label: 'Changed', cell: ({ updated_at }) => timeAgo(updated_at) },
];

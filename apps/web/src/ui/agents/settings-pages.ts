/** An agent's settings: permissions, earlier configurations, home folder and sessions. */
import type {
  AdapterTest,
  AgentHome,
  ConfigurationRevision,
  FsSkill,
  AgentFile,
  TaskSession,
} from '@acp/contract';
import { count, timeAgo, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { checkbox, formError, input, postButton, status, tabs, textarea } from '../kit/parts.ts';
import { textDiff } from '../kit/text-diff.ts';
import { type Column, table } from '../kit/table.ts';

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

export interface SettingsView {
  id: string;
  revisions: readonly ConfigurationRevision[];
  /** Names of users and agents, by id. */
  names: ReadonlyMap<string, string>;
  home: AgentHome;
  sessions: readonly TaskSession[];
  can_write: boolean;
  /** Result of the adapter test just run. */
  tested: AdapterTest | null;
}

export function settingsBody(view: SettingsView): Html {
  const { id, home } = view;
  return html`!${agentTabs(id, `/agents/${id}/settings`)}
    <section class="card">
      <h2>Earlier configurations</h2>
      !${revisionList(view)}!${when(view.tested, testResult)}!${when(view.can_write, () => adapterTest(id))}
    </section>
    <section class="card">
      <h2>Home and sessions</h2>
      <p>
        The agent’s programs run in
        <code>${home.home_dir}</code>${home.is_override ? t`, a separate folder.` : '.'}
      </p>
      !${when(view.sessions.length > 0 && view.sessions, (sessions) => table('Task sessions', sessionColumns, sessions))}
      !${when(view.can_write, () => postButton(`/agents/${id}/clear-session`, 'Forget the CLI session', { confirm: 'The next run starts a new session. Discard this one?' }))}
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

export function permissionsForm(
  id: string,
  permissions: Readonly<Record<string, boolean>>,
  can_write: boolean,
): Html {
  const boxes = each(Object.entries(permissions), ([key, on]) =>
    checkbox({ name: key, label: hints[key] ? `${key}: ${hints[key]}` : key, checked: on }),
  );
  if (!can_write)
    return html`<ul>
      !${each(Object.entries(permissions), ([key, on]) => html`<li><code>${key}</code> ${on ? t`yes` : t`no`}</li>`)}
    </ul>`;
  return html`<form method="post" action="/agents/${id}/permissions">
    <div class="choices">!${boxes}</div>
    <button>Save</button>
  </form>`;
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

interface FilesView {
  id: string;
  files: readonly AgentFile[];
  skills: readonly FsSkill[];
  /** Whether their contents can be found as company knowledge. */
  as_knowledge: boolean;
  can_write: boolean;
  error: string | null;
  /** Input for a rejected skill or file. */
  typed: { slug: string; content: string; path: string };
}

export function filesBody({ id, files, skills, as_knowledge, can_write, error, typed }: FilesView): Html {
  const here = `/agents/${id}/files`;
  const removal = (path: string, what: string): Html =>
    postButton(path, 'Delete', { class: 'link small', confirm: t`Delete ${what}?` });
  const href = (path: string): string =>
    `/api/agents/${id}/files/${path.split('/').map(encodeURIComponent).join('/')}`;
  const fileColumns: Column<AgentFile>[] = [
    { label: 'Path', cell: ({ path }) => html`<a href="${href(path)}" download>${path}</a>` },
    { label: 'Bytes', kind: 'number', cell: ({ size_bytes }) => html`${count(size_bytes)}` },
    { label: 'Changed', cell: ({ updated_at }) => timeAgo(updated_at) },
    {
      label: 'Delete',
      kind: 'acts',
      cell: ({ path }) => (can_write ? removal(`${here}/delete?path=${encodeURIComponent(path)}`, path) : ''),
    },
  ];
  const skillColumns: Column<FsSkill>[] = [
    { label: 'Slug', cell: ({ slug }) => html`<code>${slug}</code>` },
    { label: 'Name', cell: ({ name }) => html`${name}` },
    { label: 'What for', cell: ({ description }) => html`<span class="prose">${description}</span>` },
    {
      label: 'Delete',
      kind: 'acts',
      cell: ({ slug }) => (can_write ? removal(`/agents/${id}/fs-skills/${slug}/delete`, slug) : ''),
    },
  ];
  return html`!${agentTabs(id, here)}!${formError(error)}
    <section class="card">
      <h2>Files</h2>
      <p class="soft">
        While one of the agent’s programs runs, they are in <code>files/</code> in its home, and changes it
        makes there are kept.
      </p>
      !${files.length > 0 ? table('Files', fileColumns, files) : html`<p>None yet.</p>`}
      !${when(can_write, () => uploadForm(here, typed.path))}!${when(can_write, () => knowledgeForm(here, as_knowledge))}
    </section>
    <section class="card">
      <h2>Its own skills</h2>
      <p class="soft">Replaces a company skill with the same slug, for this agent only.</p>
      !${skills.length > 0 ? table('Skills', skillColumns, skills) : html`<p>None yet.</p>`}
      !${when(can_write, () => skillForm(id, typed))}
    </section>`;
}

const knowledgeForm = (here: string, as_knowledge: boolean): Html =>
  html`<form method="post" action="${here}/knowledge">
    !${checkbox({ name: 'files_as_knowledge', label: 'Everyone in the company, including agents, can search these files', checked: as_knowledge })}
    <button class="quiet">Save</button>
  </form>`;

/** The path precedes the file, so that it has been read even if the upload is interrupted. */
const uploadForm = (action: string, path: string): Html =>
  html`<form method="post" action="${action}" enctype="multipart/form-data">
    <div class="row">
      !${input({ name: 'path', label: 'Path', value: path, hint: 'Empty: the file’s own name' })}
      <div class="field">
        <label for="f-file">File</label><input id="f-file" name="file" type="file" required />
      </div>
    </div>
    <button>Upload</button>
  </form>`;

const skillForm = (id: string, { slug, content }: FilesView['typed']): Html =>
  html`<form method="post" action="/agents/${id}/fs-skills">
    !${input({ name: 'slug', label: 'Slug', required: true, value: slug, hint: words('lower case, digits, hyphens') })}
    !${textarea({ name: 'content', label: 'SKILL.md', rows: 8, mono: true, required: true, value: content })}
    <button>Add</button>
  </form>`;

/** An agent's files and its own skills. */
import type { AgentFile, FsSkill } from '@acp/contract';
import type { Page } from '@acp/db';
import { count, timeAgo, words } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { checkbox, formError, input, postButton, textarea } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { agentTabs } from './settings-pages.ts';

interface FilesView {
  id: string;
  files: Page<AgentFile>;
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
      !${files.items.length > 0 ? table('Files', fileColumns, files.items) : html`<p>None yet.</p>`}!${moreLink(here, files.next_cursor, 'Next page')}
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

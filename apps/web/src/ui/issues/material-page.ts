/** What belongs to an issue besides the conversation: files, documents, results, decisions. */
import type { Attachment, Document, ExecutionDecision, WorkProduct } from '@acp/contract';
import type { DocumentHead, RevisionHead } from '@acp/core';
import type { Page } from '@acp/db';
import { asShown } from '../kit/as-shown.ts';
import { fileSize, timeAgo, words } from '../kit/format.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { formError, input, postButton, status, textarea } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { issueTabs } from './issue-tabs.ts';

interface MaterialView {
  id: string;
  attachments: Page<Attachment>;
  documents: Page<DocumentHead>;
  products: Page<WorkProduct>;
  decisions: Page<ExecutionDecision>;
  /** Whether the issue has a workspace folder. */
  changes: boolean;
  can_write: boolean;
  error: string | null;
}

export function materialBody(view: MaterialView): Html {
  return html`!${issueTabs(view.id, `/issues/${view.id}/material`, view.changes)}!${formError(view.error)}
  !${filesPart(view)}!${documentsPart(view)}!${resultsPart(view)}`;
}

/** Each has pages of its own, named so in the address. */
export type MaterialList = 'files' | 'documents' | 'results' | 'decisions';

function listed<T>(
  { id }: MaterialView,
  name: MaterialList,
  label: string,
  columns: readonly Column<T>[],
  { items, next_cursor }: Page<T>,
): Html {
  if (items.length === 0) return html`<p class="soft">None yet.</p>`;
  return html`!${table(label, columns, items)}!${moreLink(`/issues/${id}/material`, next_cursor, 'Older ones', name)}`;
}

function filesPart(view: MaterialView): Html {
  const { id, attachments, can_write } = view;
  const columns: Column<Attachment>[] = [
    {
      label: 'File',
      cell: (file) => html`<a href="/api/attachments/${file.id}/download" download>${file.filename}</a>`,
    },
    { label: 'Size', kind: 'number', cell: ({ size_bytes }) => html`${fileSize(size_bytes)}` },
    { label: 'Added', cell: ({ created_at }) => timeAgo(created_at) },
    {
      label: 'Delete',
      kind: 'acts',
      cell: (file) =>
        can_write
          ? postButton(`/attachments/${file.id}/delete`, 'Delete', {
              class: 'link small',
              confirm: t`Delete ${file.filename} permanently?`,
            })
          : '',
    },
  ];
  return html`<section class="card">
    <h2>Files</h2>
    !${listed(view, 'files', 'Files', columns, attachments)}
    !${when(can_write, () => html`<p><a href="/issues/${id}#files">Add files on the issue</a></p>`)}
  </section>`;
}

function documentsPart(view: MaterialView): Html {
  const { id, documents, can_write } = view;
  const columns: Column<DocumentHead>[] = [
    { label: 'Title', cell: ({ key, title }) => html`<a href="${documentPath(id, key)}">${title}</a>` },
    { label: 'Key', cell: ({ key }) => html`<code>${key}</code>` },
    { label: 'Revision', kind: 'number', cell: (document) => html`${document.latest_revision_number}` },
  ];
  return html`<section class="card">
    <h2>Documents</h2>
    !${listed(view, 'documents', 'Documents', columns, documents)}
    !${when(
      can_write,
      () =>
        html`<form method="post" action="/issues/${id}/documents">
          !${input({ name: 'title', id: 'document-title', label: 'New document', required: true })}
          !${textarea({ name: 'body', id: 'document-body', label: 'Text', rows: 4, hint: 'Markdown' })}
          <button class="quiet">Write</button>
        </form>`,
    )}
  </section>`;
}

export const documentPath = (id: string, key: string): string =>
  `/issues/${id}/documents/${encodeURIComponent(key)}`;

/** Links to the result's URL, or to its summary. */
export function resultLink({ id, title, url, summary }: WorkProduct): Html {
  if (url !== null && /^https?:\/\//.test(url))
    return html`<a href="${url}" rel="noopener noreferrer nofollow">${title}</a>`;
  return summary ? html`<a href="/work-products/${id}">${title}</a>` : html`${title}`;
}

const productColumns: Column<WorkProduct>[] = [
  {
    label: 'Result',
    cell: (product) => resultLink(product),
  },
  { label: 'Kind', cell: ({ type }) => html`${words(type)}` },
  { label: 'State', cell: (product) => status(product.status) },
  { label: 'Review', cell: ({ review_state }) => html`${words(review_state)}` },
  { label: 'Summary', cell: ({ id, summary }) => summaryOf(id, summary ?? '') },
];

/** A single line is shown as it is; a report is folded. */
function summaryOf(id: string, text: string): Html {
  if (text.length <= 200 && !text.includes('\n')) return html`<span class="prose">${text}</span>`;
  return html`<details>
    <summary>Read</summary>
    <div class="prose">!${markdown(text, `/work-products/${id}`)}</div>
  </details>`;
}

const decisionColumns: Column<ExecutionDecision>[] = [
  { label: 'Decision', cell: ({ decision_type }) => html`${words(decision_type)}` },
  { label: 'Why', cell: ({ reason }) => html`<span class="prose">${reason ?? ''}</span>` },
  { label: 'When', cell: ({ created_at }) => timeAgo(created_at) },
];

function resultsPart(view: MaterialView): Html {
  const { products, decisions } = view;
  return html`<section class="card">
      <h2>Results</h2>
      !${listed(view, 'results', 'Results', productColumns, products)}
    </section>
    !${when(
      decisions.items.length > 0,
      () =>
        html`<section class="card">
          <h2>Decisions</h2>
          !${listed(view, 'decisions', 'Decisions', decisionColumns, decisions)}
        </section>`,
    )}`;
}

interface DocumentView {
  id: string;
  document: Document;
  /** Revisions before the latest, without their texts. */
  older: Page<RevisionHead>;
  can_write: boolean;
  error: string | null;
}

export async function documentBody({ id, document, older, can_write, error }: DocumentView): Promise<Html> {
  const here = documentPath(id, document.key);
  const edit = html`<form class="card" method="post" action="${here}">
    <h2>Edit</h2>
    !${formError(error)}!${input({ name: 'title', label: 'Title', required: true, value: document.title })}
    !${textarea({ name: 'body', label: 'Text', rows: 14, value: document.latest_body, hint: 'Markdown; the current text is kept as a revision' })}
    <button>Save</button>
  </form>`;
  return html`!${formError(can_write ? null : error)}
    <article class="card">!${markdown(document.latest_body)}</article>
    !${can_write ? await asShown(edit) : ''}
    !${when(
      older.items.length > 0,
      () =>
        html`<section class="card">
          <h2>Earlier</h2>
          !${table('Earlier revisions', revisionColumns(here, can_write), older.items)}!${moreLink(here, older.next_cursor, 'Older revisions')}
        </section>`,
    )}`;
}

function revisionColumns(here: string, can_write: boolean): Column<RevisionHead>[] {
  const pathOf = ({ id }: RevisionHead): string => `${here}/revisions/${id}`;
  return [
    {
      label: 'Revision',
      cell: (revision) => html`<a href="${pathOf(revision)}">Revision ${revision.revision_number}</a>`,
    },
    { label: 'Title', cell: ({ title }) => html`${title}` },
    { label: 'Written', cell: ({ created_at }) => timeAgo(created_at) },
    {
      label: 'Bring back',
      kind: 'acts',
      cell: (revision) =>
        can_write
          ? postButton(`${pathOf(revision)}/restore`, 'Restore this text', { class: 'link small' })
          : '',
    },
  ];
}

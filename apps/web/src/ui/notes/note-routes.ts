import { type Note, noteEndpoints as rows, noteKinds } from '@acp/contract';
import { listNotes } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { companyPage } from '../kit/company-frame.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { markdown } from '../kit/markdown.ts';
import {
  type Choice,
  emptyState,
  formError,
  formLink,
  input,
  notice,
  postButton,
  select,
  tabs,
  textarea,
} from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite, trashCard } from '../kit/write-access.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const byNote = { by: 'note', param: 'noteId' } as const;
const listPath = (company_id: string): string => `/companies/${company_id}/notes`;
const kinds = (): Choice[] => noteKinds.map((value) => ({ value, label: words(value) }));

const done: Record<string, string> = texts({
  created: 'The note has been created.',
  changed: 'Saved.',
  archived: 'The note has been archived: it is hidden from lists and agents.',
  unarchived: 'The note has been restored.',
  deleted: 'The note is in the trash.',
});

const tagsOf = (tags: readonly string[]): Html =>
  each(tags, (tag) => html`<span class="label">${tag}</span> `);

const columns: Column<Note>[] = [
  { label: 'Title', cell: ({ id, title }) => html`<a href="/notes/${id}">${title}</a>` },
  { label: 'Kind', phone: 'plain', cell: ({ kind }) => html`${words(kind)}` },
  { label: 'Tags', phone: 'plain', cell: ({ tags }) => tagsOf(tags) },
  { label: 'Changed', phone: 'plain', cell: ({ updated_at }) => timeAgo(updated_at) },
];

async function notesPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const path = listPath(company_id);
  const archived = query.archived === 'yes';
  const here = archived ? `${path}?archived=yes` : path;
  const found = await listNotes(tx, company_id, { ...searchOf(query), archived });
  const list =
    found.items.length > 0
      ? html`<div class="card">
          !${table('Notes', columns, found.items)}!${moreLink(searched(here, query), found.next_cursor, 'Older notes')}
        </div>`
      : nothingListed(here, query, () =>
          emptyState(
            archived ? 'Nothing found' : 'No notes yet',
            html`Write down below what agents and people should know, or let agents do it:
              <code>/create-note</code>, <code>/record-finding</code>.`,
          ),
        );
  const views = [
    { label: t`Current`, path: searched(path, query) },
    { label: t`Archived`, path: searched(`${path}?archived=yes`, query) },
  ];
  const body = html`!${notice(done[query.done ?? ''])}!${tabs('Notes', views, searched(here, query))}
  !${searchedList(here, query, found, list, 1)}!${when(mayWrite(context), () => noteForm(path, t`New note`, error, form, null))}`;
  const actions = mayWrite(context) && found.items.length > 0 ? formLink(t`New note`, 'title') : '';
  return companyPage(context, { title: t`Notes`, active: path, actions, body });
}

/** Form for a new or an existing note. */
function noteForm(
  path: string,
  heading: string,
  error: string | null,
  form: FormValues | null,
  note: Pick<Note, 'title' | 'body_markdown' | 'kind' | 'tags'> | null,
): Html {
  const errors = new FieldErrors(error, ['title', 'body_markdown', 'kind', 'tags']);
  const typed = (name: string, stored: string): string => (form?.has(name) ? form.text(name) : stored);
  return html`<form class="card" method="post" action="${path}">
    <h2>${heading}</h2>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'title', label: 'Title', required: true, value: typed('title', note?.title ?? ''), error: errors.of('title') })}
      !${select({ name: 'kind', label: 'Kind', value: typed('kind', note?.kind ?? 'note'), choices: kinds(), error: errors.of('kind') })}
      !${input({ name: 'tags', label: 'Tags', items: '', value: typed('tags', note?.tags.join(', ') ?? ''), hint: 'Separated by commas', error: errors.of('tags') })}
    </div>
    !${textarea({ name: 'body_markdown', label: 'Text', rows: 10, value: typed('body_markdown', note?.body_markdown ?? ''), hint: 'Markdown', error: errors.of('body_markdown') })}
    <button>Save</button>
  </form>`;
}

const read = (form: FormValues) => ({
  title: form.sent('title'),
  kind: form.given('kind'),
  body_markdown: form.sent('body_markdown'),
  tags: form
    .sent('tags')
    ?.split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== ''),
});

async function notePage(
  context: UiContext<'note'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { subject, company_id, query } = context;
  const path = listPath(company_id);
  const here = `/notes/${subject.id}`;
  const note = { ...subject, kind: subject.kind as Note['kind'], tags: subject.tags };
  const shelve = subject.archived_at
    ? postButton(`${here}/unarchive`, 'Bring back')
    : postButton(`${here}/archive`, 'Archive');
  const edit = mayWrite(context) ? await asShown(noteForm(here, t`Edit`, error, form, note), form) : '';
  const body = html`!${notice(done[query.done ?? ''])}
    <article class="card">
      <p class="soft small">
        ${words(note.kind)} · changed !${timeAgo(subject.updated_at)} !${tagsOf(note.tags)}
        !${when(subject.issue_id, (id) => html`· <a href="/issues/${id}">its issue</a>`)}
        !${when(subject.archived_at, (at) => html`· archived !${timeAgo(at)}`)}
      </p>
      !${subject.body_markdown.trim() === '' ? html`<p class="soft">No text.</p>` : markdown(subject.body_markdown)}
    </article>
    !${when(
      mayWrite(context),
      () =>
        html`!${edit}!${trashCard(`${here}/delete`, note.title, t`An admin can restore it from the trash for a while.`)}`,
    )}`;
  return companyPage(context, {
    title: note.title,
    active: path,
    trail: [{ label: t`Notes`, path }],
    actions: mayWrite(context) ? shelve : '',
    body,
  });
}

export const noteRoutes: UiRoute[] = [
  page('/companies/{companyId}/notes', { scope: byCompany, role: 'viewer' }, (c) => notesPage(c)),
  action('/companies/{companyId}/notes', rows.create, {
    read,
    next: (_c, note) => `/notes/${note.id}?done=created`,
    failed: notesPage,
  }),
  page('/notes/{noteId}', { scope: byNote, role: 'viewer' }, (c) => notePage(c)),
  action('/notes/{noteId}', rows.update, {
    read,
    edits: (c) => notePage(c),
    next: (c) => `/notes/${c.subject.id}?done=changed`,
    failed: notePage,
  }),
  action('/notes/{noteId}/archive', rows.archive, {
    next: (c) => `/notes/${c.subject.id}?done=archived`,
    failed: notePage,
  }),
  action('/notes/{noteId}/unarchive', rows.unarchive, {
    next: (c) => `/notes/${c.subject.id}?done=unarchived`,
    failed: notePage,
  }),
  action('/notes/{noteId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: notePage,
  }),
];

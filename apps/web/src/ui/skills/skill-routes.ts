import { type Skill, skillEndpoints as rows } from '@acp/contract';
import { listSkills, presentSkill } from '@acp/core';
import { asShown } from '../kit/as-shown.ts';
import { companyPage } from '../kit/company-frame.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { markdown } from '../kit/markdown.ts';
import { checkbox, emptyState, formError, formLink, input, notice, status, textarea } from '../kit/parts.ts';
import { type Column, moreLink, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { mayWrite, trashCard } from '../kit/write-access.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
const bySkill = { by: 'skill', param: 'skillId' } as const;
const listPath = (company_id: string): string => `/companies/${company_id}/skills`;

const done: Record<string, string> = texts({
  created: 'The skill has been created.',
  changed: 'Saved: agents use the new version from their next run on.',
  deleted: 'The skill is in the trash.',
});

const columns: Column<Skill>[] = [
  { label: 'Skill', cell: ({ id, name }) => html`<a href="/skills/${id}">${name}</a>` },
  { label: 'Slug', cell: ({ slug }) => html`<code>${slug}</code>` },
  { label: 'What for', cell: ({ description }) => html`<span class="prose">${description}</span>` },
  { label: 'For', cell: ({ company_wide }) => html`${company_wide ? t`all agents` : t`those that have it`}` },
  { label: 'State', cell: ({ enabled }) => status(enabled ? 'enabled' : 'disabled') },
  { label: 'Version', kind: 'number', cell: ({ version }) => html`${version}` },
];

const example = `---
name: Write release notes
description: How we tell customers what is new. Use it before a release.
---
# Release notes

`;

async function skillsPage(
  context: UiContext<'company'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const path = listPath(company_id);
  const { items, next_cursor } = await listSkills(tx, company_id, searchOf(query));
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('Skills', columns, items)}!${moreLink(searched(path, query), next_cursor, 'Older skills')}
        </div>`
      : nothingListed(path, query, () =>
          emptyState(
            'No skills yet',
            html`A skill is a text that tells agents how something is done here. They look it up with
              <code>/use-skill</code>.`,
          ),
        );
  const errors = new FieldErrors(error, ['slug', 'content'], { 'SKILL.md': 'content', 'this slug': 'slug' });
  const fresh = html`<form class="card" method="post" action="${path}">
    <h2>New skill</h2>
    !${formError(errors.general)}
    !${textarea({ name: 'content', label: 'SKILL.md', rows: 12, mono: true, required: true, value: form?.text('content') ?? example, hint: 'Front matter with name and description, then Markdown', error: errors.of('content') })}
    !${input({ name: 'slug', label: 'Slug', value: form?.text('slug') ?? '', hint: 'Lower case, digits, hyphens; empty: from the name', error: errors.of('slug') })}
    !${checkbox({ name: 'company_wide', label: 'For all agents of the company', checked: form?.checked('company_wide') ?? true })}
    <button>Add</button>
  </form>`;
  const body = html`!${notice(done[query.done ?? ''])}!${searchedList(path, query, { items, next_cursor }, list)}!${mayWrite(context) ? fresh : ''}`;
  const actions = mayWrite(context) && items.length > 0 ? formLink(t`New skill`, 'content') : '';
  return companyPage(context, { title: t`Skills`, active: path, actions, body });
}

async function skillPage(
  context: UiContext<'skill'>,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { subject, company_id, query } = context;
  const path = listPath(company_id);
  const here = `/skills/${subject.id}`;
  const skill = presentSkill(subject);
  const errors = new FieldErrors(error, ['name', 'description', 'body_markdown']);
  const typed = (name: 'name' | 'description' | 'body_markdown'): string =>
    form?.has(name) ? form.text(name) : skill[name];
  const fields = html`<form class="card" method="post" action="${here}">
    <h2>Edit</h2>
    !${formError(errors.general)}
    !${input({ name: 'name', label: 'Name', required: true, value: typed('name'), error: errors.of('name') })}
    !${input({ name: 'description', label: 'What for', required: true, value: typed('description'), hint: 'Agents use it to decide whether to read the skill', error: errors.of('description') })}
    !${textarea({ name: 'body_markdown', label: 'Text', rows: 14, mono: true, value: typed('body_markdown'), hint: 'Markdown', error: errors.of('body_markdown') })}
    !${checkbox({ name: 'company_wide', label: 'For all agents of the company', checked: skill.company_wide })}
    !${checkbox({ name: 'enabled', label: 'Enabled', checked: skill.enabled })}
    <button>Save</button>
  </form>`;
  const edit = html`!${await asShown(fields, form)}!${trashCard(`${here}/delete`, skill.name, t`Agents can no longer use it. An admin can restore it from the trash for a while.`)}`;
  const body = html`!${notice(done[query.done ?? ''])}
    <article class="card">
      <p class="soft small">
        <code>${skill.slug}</code> · version ${skill.version} · changed !${timeAgo(skill.updated_at)}
        !${status(skill.enabled ? 'enabled' : 'disabled')}
      </p>
      <p>${skill.description}</p>
      !${markdown(skill.body_markdown)}
    </article>
    !${mayWrite(context) ? edit : ''}`;
  return companyPage(context, { title: skill.name, active: path, trail: [{ label: t`Skills`, path }], body });
}

export const skillRoutes: UiRoute[] = [
  page('/companies/{companyId}/skills', { scope: byCompany, role: 'viewer' }, (c) => skillsPage(c)),
  action('/companies/{companyId}/skills', rows.create, {
    read: (form) => ({
      content: form.text('content'),
      slug: form.given('slug'),
      company_wide: form.checked('company_wide'),
    }),
    next: (_c, skill) => `/skills/${skill.id}?done=created`,
    failed: skillsPage,
  }),
  page('/skills/{skillId}', { scope: bySkill, role: 'viewer' }, (c) => skillPage(c)),
  action('/skills/{skillId}', rows.update, {
    edits: (c) => skillPage(c),
    read: (form) => ({
      name: form.sent('name'),
      description: form.sent('description'),
      body_markdown: form.sent('body_markdown'),
      company_wide: form.has('company_wide') ? form.checked('company_wide') : undefined,
      enabled: form.has('enabled') ? form.checked('enabled') : undefined,
    }),
    next: (c) => `/skills/${c.subject.id}?done=changed`,
    failed: skillPage,
  }),
  action('/skills/{skillId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: skillPage,
  }),
];

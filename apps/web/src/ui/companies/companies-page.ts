import type { Company, CompanyTemplate, ImportedCompany } from '@acp/contract';
import { companiesByName, listTemplates } from '@acp/core';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { moreLink, pageOf } from '../kit/table.ts';
import { type Founding, foundingForms } from '../portability/portability-pages.ts';
import { avatar, emptyState, formError, input, notice, formLink } from '../kit/parts.ts';
import { t, texts } from '../kit/language.ts';
import { shell } from '../kit/shell.ts';
import type { UiContext } from '../kit/ui-routes.ts';

const COMPANIES = '/companies';

const done: Record<string, string> = texts({
  deleted: 'The company is in the trash.',
  asked: 'You have asked to join. An administrator of the company decides.',
});

interface CompaniesView {
  companies: { items: readonly Company[]; next_cursor: string | null };
  can_create: boolean;
  templates: readonly CompanyTemplate[];
  founding: Founding;
  said: string | null;
  /** The page's own query. */
  query: Readonly<Record<string, string>>;
}

function companiesBody(view: CompaniesView): Html {
  const { companies, can_create, templates, founding, said, query } = view;
  // The import form shows its own errors.
  const own = founding.form?.has('import') ? { error: null, form: null } : founding;
  const { form } = own;
  const errors = new FieldErrors(own.error, ['name', 'slug']);
  const row = ({ id, name, slug }: Company): Html =>
    html`<li>
      !${avatar(name)}<a class="grow" href="/companies/${id}">${name}</a
      ><span class="soft small">${slug}</span>
    </li>`;
  const list =
    companies.items.length > 0
      ? html`<div class="card">
          <ul class="list">
            !${each(companies.items, row)}
          </ul>
          !${moreLink(searched(COMPANIES, query), companies.next_cursor, 'More companies')}
        </div>`
      : nothingListed(COMPANIES, query, () =>
          emptyState(
            'No companies yet',
            can_create
              ? html`Create the first one below.`
              : html`Ask an administrator for an invite, or ask to join below.`,
          ),
        );
  const create = html`<form class="card" method="post" action="/companies">
    <h2>New company</h2>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'name', label: 'Name', required: true, autofocus: companies.items.length === 0 && !query.q, value: form?.text('name') ?? '', error: errors.of('name') })}
      !${input({ name: 'slug', label: 'Slug', value: form?.text('slug') ?? '', hint: 'a-z, 0-9 and hyphens; empty: from the name', error: errors.of('slug') })}
      <button>Create</button>
    </div>
  </form>`;
  return html`!${notice(said)}!${searchedList(COMPANIES, query, companies, list)}!${when(can_create, () => html`!${create}!${foundingForms(templates, founding)}`)}!${when(!can_create, () => joinForm(founding))}`;
}

/** Form for users who know of a company but have no invite. */
function joinForm({ error, form }: { error: string | null; form: FormValues | null }): Html {
  const errors = new FieldErrors(error, ['company_id', 'message'], {
    company: 'company_id',
    member: 'company_id',
  });
  return html`<form class="card" method="post" action="/join-requests">
    <h2>Ask to join a company</h2>
    <p class="soft">Its administrators see the request on their members page. They can tell you its id.</p>
    !${formError(errors.general)}!${input({ name: 'company_id', label: 'Company id', required: true, value: form?.text('company_id') ?? '', error: errors.of('company_id') })}
    !${input({ name: 'message', label: 'Message (optional)', value: form?.text('message') ?? '', error: errors.of('message') })}
    <button>Ask</button>
  </form>`;
}

export async function companiesPage(
  context: UiContext<'none'>,
  error: string | null = null,
  form: FormValues | null = null,
  preview: ImportedCompany | null = null,
): Promise<Html> {
  const { tx, user } = context;
  const admin = user.instance_role === 'admin';
  const companies = await companiesByName(tx, user, { ...searchOf(context.query), ...pageOf(context.query) });
  const said = done[context.query.done ?? ''] ?? null;
  const templates = admin ? await listTemplates(context.services.portability.templates) : [];
  return shell({
    title: t`Companies`,
    user,
    company: null,
    active: '/companies',
    actions: admin && companies.items.length > 0 ? formLink(t`New company`, 'name') : '',
    body: companiesBody({
      companies,
      can_create: admin,
      templates,
      founding: { error, form, preview },
      said,
      query: context.query,
    }),
  });
}

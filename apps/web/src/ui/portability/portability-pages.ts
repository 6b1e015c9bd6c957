import type { CompanyTemplate, ImportedCompany } from '@acp/contract';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { formError, input, textarea } from '../kit/parts.ts';
import { importOutcome } from './import-outcome.ts';

export interface PortabilityView {
  company_id: string;
  templates: readonly CompanyTemplate[];
  /** Result of the last preview or import. */
  outcome: { result: ImportedCompany; preview: boolean } | null;
  error: string | null;
}

export function portabilityBody(view: PortabilityView): Html {
  const { company_id, templates, outcome, error } = view;
  const base = `/companies/${company_id}`;
  return html`<form class="card" method="get" action="/api${base}/export" data-download>
      <h2>Export</h2>
      <p class="soft">
        One file with agents, skills, routines, goals, projects, notes and budgets, without any secrets. It
        lists what it leaves out.
      </p>
      <label class="check"
        ><input type="checkbox" name="include" value="issues" />
        <span>Issues too, with comments and documents</span></label
      >
      <button>Download</button>
    </form>
    !${importForm({
      action: `${base}/import`,
      outcome: 'outcome',
      fields: html`<h2>Import into this company</h2>
        <p class="soft">
          Creates everything the company does not have by that name, all or nothing. Heartbeats, schedules and
          webhooks start switched off.
        </p>
        !${formError(error)}!${bundleField(`${base}/portability`)}`,
      shown: when(outcome, ({ result, preview }) => importOutcome(result, preview)),
    })}
    !${when(templates.length > 0, () => teamCards(templates, (slug) => teamForm(`${base}/import`, slug)))}`;
}

interface ImportForm {
  action: string;
  /** Id of the element that shows what an import did, or would do. */
  outcome: string;
  /** The file, and what is asked besides it. */
  fields: Html;
  /** What the outcome shows now. */
  shown: Html;
}

/** An import, and a preview of it, which changes nothing. */
function importForm({ action, outcome, fields, shown }: ImportForm): Html {
  return html`<form
      class="card"
      method="post"
      action="${action}"
      enctype="multipart/form-data"
      data-preview="#${outcome}"
    >
      !${fields}!${keysField()}
      <div class="buttons">
        <button name="act" value="preview">Preview</button>
        <button name="act" value="import" class="quiet">Import</button>
      </div>
    </form>
    <div id="${outcome}" class="apart" aria-live="polite" data-outcome>!${shown}</div>`;
}

/** @param id distinguishes it from another one on the page */
function bundleField(id: string): Html {
  const name = `f-bundle-${id.split('/').length}`;
  return html`<div class="field">
    <label for="${name}">Bundle</label>
    <input id="${name}" name="bundle" type="file" accept=".json,application/json" required />
  </div>`;
}

function keysField(): Html {
  return html`<details>
    <summary>Provider keys</summary>
    !${textarea({ name: 'provider_keys', label: 'One per line: provider label = key', rows: 3, mono: true, hint: 'A provider without a key is created switched off' })}
  </details>`;
}

/** Adds a ready-made team to an existing company. */
function teamForm(path: string, slug: string): Html {
  return html`<form method="post" action="${path}">
    <input type="hidden" name="template" value="${slug}" />
    <div class="buttons">
      <button name="act" value="preview" class="quiet">Preview</button>
      <button name="act" value="import">Add this team</button>
    </div>
  </form>`;
}

/** The teams' contents are in English. */
function teamCards(templates: readonly CompanyTemplate[], acts: (slug: string) => Html): Html {
  return html`<section class="apart" aria-label="Ready-made teams">
    <h2>Ready-made teams</h2>
    <div class="tiles">
      !${each(
        templates,
        ({ slug, name, description, agents, skills, routines }) =>
          html`<article class="card">
            <h3>${name}</h3>
            <p lang="en">${description}</p>
            <p class="soft small">
              <span lang="en"
                >${agents.map(({ name: who, title, role }) => `${who}, ${title ?? role}`).join(' · ')}</span
              >; skills: ${skills}, routines: ${routines}
            </p>
            !${acts(slug)}
          </article>`,
      )}
    </div>
  </section>`;
}

/** What became of the last form on the page. */
export interface Founding {
  error: string | null;
  form: FormValues | null;
  /** What an import would create. */
  preview?: ImportedCompany | null;
}

/** Import forms for instance admins, who create companies. */
export function foundingForms(
  templates: readonly CompanyTemplate[],
  { error, form, preview = null }: Founding,
): Html {
  // Each team has a form of its own, and so has a bundle.
  const sent = form?.has('import') ? form : null;
  const of = (template: string) => {
    const own = sent?.text('template') === template ? sent : null;
    return { refused: own, errors: new FieldErrors(own ? error : null, [], { slug: 'slug' }) };
  };
  const founding = (slug: string) => {
    const { refused: typed, errors: own } = of(slug);
    return html`<form method="post" action="/companies/import">
      <input type="hidden" name="import" value="on" />
      <input type="hidden" name="template" value="${slug}" />
      !${formError(own.general)}
      !${input({ name: 'name', id: `name-${slug}`, label: 'Name of the new company', required: true, value: typed?.text('name') ?? '' })}
      !${when(typed?.has('slug') || own.of('slug'), () => slugField(`slug-${slug}`, typed, own))}
      <button>Create a company from it</button>
    </form>`;
  };
  const { refused, errors } = of('');
  return html`!${when(templates.length > 0, () => teamCards(templates, founding))}
  !${importForm({
    action: '/companies/import',
    outcome: 'founding-outcome',
    fields: html`<h2>New company from a bundle</h2>
      !${formError(errors.general)}
      <input type="hidden" name="import" value="on" />
      <div class="row">
        !${input({ name: 'name', id: 'bundle-name', label: 'Name', required: true, value: refused?.text('name') ?? '' })}
        !${slugField('bundle-slug', refused, errors)}
      </div>
      !${bundleField('/')}`,
    shown: when(preview, (result) => importOutcome(result, true)),
  })}`;
}

const slugField = (id: string, typed: FormValues | null, errors: FieldErrors): Html =>
  input({
    name: 'slug',
    id,
    label: 'Slug',
    value: typed?.text('slug') ?? '',
    hint: 'a-z, 0-9 and hyphens; empty: from the name',
    error: errors.of('slug'),
  });

/** After an import as a new company: what it has left to do. */
export function foundedBody(company_id: string, result: ImportedCompany): Html {
  return html`<p class="notice good" role="status">
      The company has been created. Heartbeats, schedules and webhooks are switched off.
    </p>
    !${importOutcome(result, false)}
    <p class="apart"><a class="button" href="/companies/${company_id}">Open the company</a></p>`;
}

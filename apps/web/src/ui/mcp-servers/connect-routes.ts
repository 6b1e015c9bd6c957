import { boardUserKeyEndpoints, mcpToolsetNames } from '@acp/contract';
import { assetPath } from '../kit/assets.ts';
import { requireCompany } from '../kit/company-frame.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { formError, input, select, shownOnce, textarea } from '../kit/parts.ts';
import { action, page, type UiRoute } from '../kit/ui-routes.ts';
import { roleChoices } from '../access/access-frame.ts';
import { clientConfigurations } from './client-configurations.ts';
import { byCompany, type CompanyContext, connectPage, connectPath, isAdmin } from './connect-frame.ts';

const PLACEHOLDER = 'YOUR-KEY';

async function clientsPage(
  context: CompanyContext,
  error: string | null = null,
  form: FormValues | null = null,
  key: string | null = null,
): Promise<Html> {
  const { tx, company_id, services } = context;
  const { slug } = await requireCompany(tx, company_id);
  const url = new URL(`/mcp/${company_id}`, services.public_url).href;
  const configurations = clientConfigurations({ name: slug, url, key: key ?? PLACEHOLDER });
  const tab = connectPath(company_id);
  const body = html`!${when(key, (made) => shownOnce('The new key, shown only once; it is included in the configurations below:', made))}
    <section class="card">
      <h2>Your client, this company</h2>
      <p>
        Any client of the Model Context Protocol can work here: its tools are what the key may do, its
        resources issues, documents, notes, skills and agents.
      </p>
      <dl class="facts">
        <dt>Address</dt>
        <dd><code class="copy">${url}</code></dd>
        <dt>Header</dt>
        <dd><code class="copy">Authorization: Bearer ${key ?? PLACEHOLDER}</code></dd>
        <dt>Fewer tools</dt>
        <dd>
          All of them take much of a model’s context. At the end of the address,
          <code class="copy">?toolsets=issues,knowledge</code> offers these sets only, of
          ${mcpToolsetNames.join(', ')}; <code class="copy">?read_only=true</code> what changes nothing.
        </dd>
      </dl>
      <p class="soft">Streamable HTTP; every version of the protocol from 2024-11-05 to 2026-07-28.</p>
    </section>
    !${isAdmin(context) ? keyForm(tab, error, form) : html`<p class="soft">A company admin can create a key for you; agents have their own keys.</p>`}
    !${tryForm(company_id, key)}
    !${each(
      configurations,
      ({ title, hint, text }) =>
        html`<section class="card">
          <h2>${title}</h2>
          <p class="hint">${hint}</p>
          <pre class="copy" tabindex="0" aria-label="${title}">${text}</pre>
        </section>`,
    )}
    <script src="${assetPath('try-tool.js')}" type="module"></script>`;
  return connectPage(context, { title: t`Connect by MCP`, tab, body });
}

/** Submitted by the page's script with only the key, like any client: without script there is no form. */
const tryForm = (company_id: string, key: string | null): Html =>
  html`<form class="card" hidden data-try-tool="/mcp/${company_id}" autocomplete="off">
    <h2>Try a tool</h2>
    <p class="soft">This is a real call, as your client would make it, with all its effects.</p>
    <div class="row">
      !${input({ name: 'key', id: 'try-key', label: 'Key', type: 'password', required: true, value: key ?? '', hint: 'Not stored: kept in this page only' })}
      !${input({ name: 'tool', id: 'try-tool', label: 'Tool', required: true, value: 'list_issues', list: 'try-tools' })}
    </div>
    <datalist id="try-tools"></datalist>
    !${textarea({ name: 'input', id: 'try-input', label: 'Arguments', mono: true, rows: 3, value: '{}', hint: 'A JSON object' })}
    <button>Call</button>
    <p class="error" role="alert" data-try-error hidden></p>
    <pre class="wrapped" tabindex="0" aria-label="Answer" data-try-answer hidden></pre>
  </form>`;

function keyForm(path: string, error: string | null, form: FormValues | null): Html {
  const errors = new FieldErrors(error, ['label', 'role', 'expires_in_days']);
  return html`<form class="card" method="post" action="${path}">
    <h2>New key</h2>
    <p class="soft">For a client of yours. Keys are listed and revoked with the company’s members.</p>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'label', label: 'What it is for', value: form?.text('label') ?? 'MCP client', error: errors.of('label') })}
      !${select({ name: 'role', label: 'Role', value: form?.text('role') || 'member', choices: roleChoices(), error: errors.of('role') })}
      !${input({ name: 'expires_in_days', label: 'Expires in (days)', type: 'number', min: 1, value: form?.text('expires_in_days') ?? '', hint: 'Empty: valid until revoked', error: errors.of('expires_in_days') })}
      <button>Mint a key</button>
    </div>
  </form>`;
}

export const connectRoutes: UiRoute[] = [
  page('/companies/{companyId}/connect', { scope: byCompany, role: 'viewer' }, (c) => clientsPage(c)),
  // The key is shown only in this response, so there is no redirect.
  action('/companies/{companyId}/connect', boardUserKeyEndpoints.mint, {
    read: (form) => ({
      role: form.text('role'),
      label: form.cleared('label'),
      expires_in_days: form.number('expires_in_days'),
    }),
    next: (c, { raw_key }) => clientsPage(c, null, null, raw_key),
    failed: clientsPage,
  }),
];

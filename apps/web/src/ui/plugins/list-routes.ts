import {
  type Plugin,
  type PluginAuditEntry,
  pluginEndpoints as rows,
  type PluginSummary,
} from '@acp/contract';
import { listCompanies, listInstancePlugins, listPluginAudit, listPlugins } from '@acp/core';
import type { Page } from '@acp/db';
import { companyPage } from '../kit/company-frame.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { emptyState, formError, formLink, input, status, textarea } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, moreLink, pageOf, samePage, table } from '../kit/table.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { byCompany, doneNotice, isAdmin, listPath, requirePlugins } from './plugin-frame.ts';

type CompanyContext = UiContext<'company'>;

const columns: Column<Plugin | PluginSummary>[] = [
  { label: 'Plugin', cell: ({ id, name }) => html`<a href="/plugins/${id}">${name}</a>` },
  { label: 'Version', cell: ({ version }) => html`${version ?? ''}` },
  { label: 'State', cell: ({ state }) => status(state) },
  { label: 'Approval', cell: ({ approval_state }) => status(approval_state) },
  { label: 'Sandbox', cell: ({ sandbox }) => html`${sandbox ?? ''}` },
  { label: 'Changed', cell: ({ updated_at }) => timeAgo(updated_at) },
];

const loadPlugins = ({ tx, company_id, query }: CompanyContext): Promise<Page<Plugin>> =>
  listPlugins(tx, company_id, searchOf(query));

function listPart({ company_id, query }: CompanyContext, { items, next_cursor }: Page<Plugin>): Html {
  const path = listPath(company_id);
  if (items.length === 0)
    return nothingListed(path, query, () =>
      emptyState(
        'No plugins yet',
        html`A plugin is a program that provides tools, jobs and webhooks. An admin registers it, checks its
        binary, and allows it.`,
      ),
    );
  return html`<div class="card">
    !${table('Plugins', columns, items)}!${moreLink(searched(path, query), next_cursor, 'Older plugins')}
  </div>`;
}

async function pluginsPage(
  context: CompanyContext,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  requirePlugins(context);
  const path = listPath(context.company_id);
  const plugins = await loadPlugins(context);
  const forAdmins = () => createForm(path, error, form);
  const list = html`<div
    data-live="plugins"
    data-source="${samePage(searched(`${path}/part/list`, context.query), context.query)}"
  >
    !${listPart(context, plugins)}
  </div>`;
  const body = html`!${doneNotice(context)} !${searchedList(path, context.query, plugins, list)}
  !${when(isAdmin(context), forAdmins)}`;
  const actions = isAdmin(context)
    ? html`<a class="button quiet" href="${path}/audit">Audit</a>!${formLink(t`New plugin`, 'name')}`
    : '';
  return companyPage(context, { title: t`Plugins`, active: path, actions, body });
}

const fields = ['name', 'slug', 'description', 'version', 'binary_path', 'binary_hash', 'config'];

function createForm(path: string, error: string | null, form: FormValues | null): Html {
  const errors = new FieldErrors(error, fields);
  const field = (name: string, label: string, rest: { hint?: string; required?: boolean } = {}): Html =>
    input({ name, label, value: form?.text(name) ?? '', error: errors.of(name), ...rest });
  return html`<form class="card" method="post" action="${path}">
    <h2>New plugin</h2>
    !${formError(errors.general)}
    <div class="row">
      !${field('name', t`Name`, { required: true })}
      !${field('slug', t`Slug`, { required: true, hint: 'Small letters, digits, hyphens' })}
      !${field('version', t`Version`)}
    </div>
    !${field('description', t`Description`)}
    <div class="row">
      !${field('binary_path', t`Binary`, { hint: 'Path of the file on the schedulers’ machine: /opt/plugins/github' })}
      !${field('binary_hash', 'SHA-256', { hint: 'As published by its author: any other file is rejected' })}
    </div>
    !${textarea({ name: 'config', label: 'Configuration', mono: true, rows: 4, value: form?.text('config') ?? '', hint: 'JSON. "${secret:NAME}" is filled in at the start', error: errors.of('config') })}
    <button>Register</button>
  </form>`;
}

const auditColumns: Column<PluginAuditEntry>[] = [
  { label: 'When', cell: ({ created_at }) => timeAgo(created_at) },
  { label: 'Who', cell: ({ actor_name }) => html`${actor_name}` },
  {
    label: 'What',
    cell: ({ action: act }) => html`<code>${words(act.replace(/^plugin\./, ''))}</code>`,
  },
  {
    label: 'Plugin',
    cell: ({ plugin_id }) => html`<a href="/plugins/${plugin_id}">${plugin_id.slice(0, 8)}</a>`,
  },
  { label: 'More', cell: ({ details }) => html`<span class="small">${detailsOf(details)}</span>` },
];

const detailsOf = (details: Record<string, unknown>): string =>
  Object.entries(details)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${words(name)}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
    .slice(0, 500);

async function auditPage(context: CompanyContext): Promise<Html> {
  requirePlugins(context);
  const { tx, company_id, query } = context;
  const active = listPath(company_id);
  const { items, next_cursor } = await listPluginAudit(tx, company_id, pageOf(query));
  const body =
    items.length > 0
      ? html`<section class="card">
          !${table('Audit', auditColumns, items)}!${moreLink(`${active}/audit`, next_cursor, 'Earlier')}
        </section>`
      : emptyState('No activity', html`Approvals, denied attempts and changes of state are listed here.`);
  return companyPage(context, {
    title: t`Audit`,
    active,
    trail: [{ label: t`Plugins`, path: active }],
    body,
  });
}

const INSTANCE = '/admin/plugins';

const loadInstance = ({ tx, query }: UiContext<'none'>): Promise<Page<PluginSummary>> =>
  listInstancePlugins(tx, searchOf(query));

/** The streams of pages carry one company's events: this list looks for changes itself. */
async function instancePart(
  { tx, query }: UiContext<'none'>,
  { items, next_cursor }: Page<PluginSummary>,
): Promise<Html> {
  const companies = await listCompanies(tx, [...new Set(items.map(({ company_id }) => company_id))]);
  const names = new Map(companies.map(({ id, name }) => [id, name]));
  const all: Column<PluginSummary>[] = [
    ...columns.slice(0, 1),
    {
      label: 'Company',
      cell: ({ company_id }) => html`<a href="${listPath(company_id)}">${names.get(company_id) ?? ''}</a>`,
    },
    ...columns.slice(1),
  ];
  if (items.length === 0)
    return nothingListed(INSTANCE, query, () =>
      emptyState('No plugins', html`Plugins of all companies are listed here.`),
    );
  const newest = Math.max(...items.map(({ updated_at }) => new Date(updated_at).getTime()));
  return html`<section class="card" data-awaits="${newest}">
    !${table('Plugins', all, items)}!${moreLink(searched(INSTANCE, query), next_cursor, 'Older plugins')}
  </section>`;
}

async function instancePage(context: UiContext<'none'>): Promise<Html> {
  requirePlugins(context);
  const { user, query } = context;
  const plugins = await loadInstance(context);
  const source = samePage(searched(`${INSTANCE}/part/list`, query), query);
  const list = html`<div data-source="${source}">!${await instancePart(context, plugins)}</div>`;
  const body = searchedList(INSTANCE, query, plugins, list);
  return shell({ title: t`Plugins`, user, company: null, active: INSTANCE, body });
}

export const pluginListRoutes: UiRoute[] = [
  page('/companies/{companyId}/plugins', { scope: byCompany, role: 'viewer' }, (c) => pluginsPage(c)),
  page('/companies/{companyId}/plugins/part/list', { scope: byCompany, role: 'viewer' }, async (c) =>
    listPart(c, await loadPlugins(c)),
  ),
  page('/companies/{companyId}/plugins/audit', { scope: byCompany, role: 'admin' }, auditPage),
  page(INSTANCE, { scope: { by: 'none' }, role: 'instance_admin' }, instancePage),
  page(`${INSTANCE}/part/list`, { scope: { by: 'none' }, role: 'instance_admin' }, async (c) =>
    instancePart(c, await loadInstance(c)),
  ),
  action('/companies/{companyId}/plugins', rows.create, {
    read: (form) => ({
      name: form.text('name').trim(),
      slug: form.text('slug').trim(),
      description: form.given('description'),
      version: form.given('version')?.trim(),
      binary_path: form.given('binary_path')?.trim(),
      binary_hash: form.given('binary_hash')?.trim(),
      config: form.json('config'),
    }),
    next: (_, { id }) => `/plugins/${id}?done=created`,
    failed: pluginsPage,
  }),
];

import { mcpServerEndpoints as rows } from '@acp/contract';
import {
  listedMcpTools,
  listMcpCalls,
  listMcpServers,
  offeredMcpCommands,
  presentMcpServer,
} from '@acp/core';
import { invalid, readableJson, said } from '@acp/kernel';
import { asShown } from '../kit/as-shown.ts';
import { offerOf } from '../kit/choice.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { nothingListed, searched, searchedList, searchOf } from '../kit/list-search.ts';
import { emptyState, formError, formLink } from '../kit/parts.ts';
import { moreLink, pageOf, samePage, table } from '../kit/table.ts';
import { action, page, type UiRoute } from '../kit/ui-routes.ts';
import {
  byCompany,
  byServer,
  type CompanyContext,
  connectPage,
  type ServerContext,
  serversPath,
} from './connect-frame.ts';
import {
  agentsForm,
  callColumns,
  deletePart,
  healthPart,
  lookedFor,
  serverColumns,
  toolsPart,
} from './server-parts.ts';
import { programForm, serverForm, type TriedTool } from './server-forms.ts';

async function serversPage(
  context: CompanyContext,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const { items, next_cursor } = await listMcpServers(tx, company_id, searchOf(query));
  const path = serversPath(company_id);
  const list =
    items.length > 0
      ? html`<div class="card">
          !${table('MCP servers', serverColumns, items)}!${moreLink(searched(path, query), next_cursor, 'Older servers')}
        </div>`
      : nothingListed(path, query, () =>
          emptyState('No MCP servers yet', html`Your agents can use the tools of servers that you add here.`),
        );
  const offers = offeredMcpCommands(context.services.mcp_servers.commands);
  // A rejected input is shown in the form that it came from.
  const isProgram = form?.has('command') === true;
  const blank = { path, server: null, error: null, form: null };
  const sent = { ...blank, error, form };
  const body = html`!${searchedList(path, query, { items, next_cursor }, list)}!${serverForm(isProgram ? blank : sent)}!${programForm(isProgram ? sent : blank, offers)}`;
  const actions = items.length > 0 ? formLink(t`New server`, 'name') : '';
  return connectPage(context, { title: t`MCP servers`, tab: path, body, actions });
}

async function serverPage(
  context: ServerContext,
  error: string | null = null,
  form: FormValues | null = null,
  tried: TriedTool | null = null,
): Promise<Html> {
  const { tx, company_id, query, subject } = context;
  const server = presentMcpServer(subject);
  const own = `/mcp-servers/${server.id}`;
  const tools = await toolsPart(server, await listedMcpTools(tx, subject), tried);
  const having = server.agents?.map(({ agent_id }) => agent_id) ?? [];
  const agents = await offerOf(context, 'agent', ...having);
  const path = serversPath(company_id);
  const about = { path: own, server, error, form };
  const offers = offeredMcpCommands(context.services.mcp_servers.commands);
  const fields = server.command === null ? serverForm(about) : programForm(about, offers);
  const ownForm = await asShown(fields, form);
  return connectPage(context, {
    title: server.name,
    tab: path,
    trail: { label: t`MCP servers`, path },
    body: html`<div class="stack">
      <div data-source="${own}/part/health">!${healthPart(server)}</div>
      !${ownForm}
      <div data-source="${own}/part/tools">!${tools}</div>
      !${await agentsForm(server, agents)}
      <div data-source="${samePage(`${own}/part/calls`, query)}">!${await callsPart(context)}</div>
      !${deletePart(server)}
    </div>`,
  });
}

async function callsPart({ tx, subject, query }: ServerContext): Promise<Html> {
  const server = presentMcpServer(subject);
  const { items, next_cursor } = await listMcpCalls(tx, server, pageOf(query));
  return html`<section class="card" !${lookedFor(server, items[0]?.id ?? 'none')}>
    <h2>Calls</h2>
    !${
      items.length > 0
        ? html`!${table('Calls', callColumns, items)}!${moreLink(`/mcp-servers/${server.id}`, next_cursor, 'Older calls')}`
        : html`<p class="soft">None yet.</p>`
    }
  </section>`;
}

/** Shows the error of a form below the first one, which has no field to show it next to. */
async function refused(context: ServerContext, error: string): Promise<Html> {
  const { name, id } = presentMcpServer(context.subject);
  const path = serversPath(context.company_id);
  const body = html`!${formError(error)}
    <p><a href="/mcp-servers/${id}">Back to the server</a></p>`;
  return connectPage(context, { title: name, tab: path, trail: { label: t`MCP servers`, path }, body });
}

/** Parses lines of a name, the separator and a value; undefined if the form lacks them. @throws invalid */
function readLines(
  form: FormValues,
  field: string,
  mark: string,
  shape: string,
): Record<string, string> | undefined {
  if (!form.has(field)) return undefined;
  const lines = form
    .text(field)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(mark);
      if (at < 1) throw invalid(said`${field} must be lines of the form ${shape}`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()] as const;
    }),
  );
}

/** Reached by URL, or a program: each has a form of its own. */
const readServer = (form: FormValues) => ({
  name: form.sent('name')?.trim(),
  command: form.sent('command'),
  env: readLines(form, 'env', '=', 'NAME=value'),
  url: form.sent('url')?.trim(),
  headers: readLines(form, 'headers', ':', t`Name: value`),
  timeout_seconds: form.number('timeout_seconds'),
  refresh_interval_seconds: form.number('refresh_interval_seconds'),
});

const triedOf = (form: FormValues, answer: string | null, error: string | null): TriedTool => ({
  tool: form.text('tool'),
  input: form.text('input'),
  answer,
  error,
});

/** Maximum length of an answer shown on a page, in characters. */
const LONGEST_SHOWN = 20_000;

function textOf(answer: unknown): string {
  const text = typeof answer === 'string' ? answer : readableJson(answer);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)} …` : text;
}

/**
 * The ticked boxes, or null for all of them. Whoever has changed boxes and left that for all as it was has chosen among them, although
 * that one was ticked, too.
 */
function chosen(form: FormValues, name: string): string[] | null {
  const isForAll = form.whole.checked('all') && (form.has('all') || !form.has(name));
  return isForAll ? null : form.whole.all(name).filter((value) => value !== '');
}

/** Without the feature flag there are no parts either. */
function part(render: (c: ServerContext) => Promise<Html>): (c: ServerContext) => Promise<Html> {
  return async (c) => {
    c.services.instance.requireFeature(rows.get);
    return render(c);
  };
}

const edits = (c: ServerContext): Promise<Html> => serverPage(c);
const saved = (c: ServerContext): string => `/mcp-servers/${c.subject.id}?done=saved`;

export const mcpServerRoutes: UiRoute[] = [
  page('/companies/{companyId}/mcp-servers', { scope: byCompany, role: 'admin' }, (c) => serversPage(c)),
  action('/companies/{companyId}/mcp-servers', rows.create, {
    read: readServer,
    next: (_, { id }) => `/mcp-servers/${id}?done=added`,
    failed: serversPage,
  }),
  page('/mcp-servers/{serverId}', { scope: byServer, role: 'admin' }, (c) => serverPage(c)),
  // Fetched by the script while something is awaited.
  page(
    '/mcp-servers/{serverId}/part/health',
    { scope: byServer, role: 'admin' },
    part(async (c) => healthPart(presentMcpServer(c.subject))),
  ),
  page(
    '/mcp-servers/{serverId}/part/tools',
    { scope: byServer, role: 'admin' },
    part(async (c) => toolsPart(presentMcpServer(c.subject), await listedMcpTools(c.tx, c.subject))),
  ),
  page('/mcp-servers/{serverId}/part/calls', { scope: byServer, role: 'admin' }, part(callsPart)),
  action('/mcp-servers/{serverId}', rows.update, {
    read: readServer,
    edits,
    next: saved,
    failed: serverPage,
  }),
  action('/mcp-servers/{serverId}/tools', rows.update, {
    read: (form) => ({ tools: chosen(form, 'tool') }),
    edits,
    next: saved,
    failed: (c, error) => serverPage(c, error),
  }),
  action('/mcp-servers/{serverId}/agents', rows.update, {
    // An agent's own list of tools is kept: the form only covers the agents.
    read: (form, { subject }) => {
      const known = new Map(subject.agents.map(({ agent_id, tools }) => [agent_id, tools]));
      const ids = chosen(form, 'agent_ids');
      const agents = [...new Set(ids)].map((agent_id) => ({ agent_id, tools: known.get(agent_id) ?? null }));
      return { agents: ids && agents };
    },
    edits,
    next: saved,
    failed: (c, error) => serverPage(c, error),
  }),
  action('/mcp-servers/{serverId}/enabled', rows.update, {
    read: (form) => ({ enabled: form.checked('enabled') }),
    next: saved,
    failed: refused,
  }),
  action('/mcp-servers/{serverId}/refresh', rows.refresh, {
    next: (c) => `/mcp-servers/${c.subject.id}`,
    failed: refused,
  }),
  // The tool's answer is shown once, in this response.
  action('/mcp-servers/{serverId}/try', rows.callTool, {
    read: (form) => ({ tool: form.text('tool'), input: form.json('input') }),
    next: (c, { answer }, form) => serverPage(c, null, null, triedOf(form, textOf(answer), null)),
    failed: (c, error, form) => serverPage(c, null, null, triedOf(form, null, error)),
  }),
  action('/mcp-servers/{serverId}/delete', rows.delete, {
    next: (c) => `${serversPath(c.company_id)}?done=deleted`,
    failed: refused,
  }),
];

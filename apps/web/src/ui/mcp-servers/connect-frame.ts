import { mcpServerEndpoints } from '@acp/contract';
import { roleIn } from '../../http/roles.ts';
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { notice, tabs } from '../kit/parts.ts';
import type { UiContext } from '../kit/ui-routes.ts';

export const byCompany = { by: 'company', param: 'companyId' } as const;
export const byServer = { by: 'mcp_server', param: 'serverId' } as const;
export type CompanyContext = UiContext<'company'>;
export type ServerContext = UiContext<'mcp_server'>;

export const connectPath = (company_id: string): string => `/companies/${company_id}/connect`;
export const serversPath = (company_id: string): string => `/companies/${company_id}/mcp-servers`;

export const isAdmin = ({ user, company_id }: Pick<UiContext, 'user' | 'company_id'>): boolean =>
  roleIn(user, company_id) === 'admin';

const done: Record<string, string> = texts({
  added: 'The server has been added.',
  saved: 'Saved.',
  deleted: 'The server has been deleted.',
});

/** Frame of the pages below "Connect by MCP". Without the feature flag there are none, as in the API. */
export async function connectPage(
  context: UiContext,
  {
    title,
    tab,
    body,
    trail,
    actions = '',
  }: { title: string; tab: string; body: Html; trail?: { label: string; path: string }; actions?: Html },
): Promise<Html> {
  context.services.instance.requireFeature(mcpServerEndpoints.list);
  const { company_id, query } = context;
  const pages = [
    { label: t`Clients`, path: connectPath(company_id) },
    ...(isAdmin(context) ? [{ label: t`MCP servers`, path: serversPath(company_id) }] : []),
  ];
  return companyPage(context, {
    title,
    active: connectPath(company_id),
    actions,
    ...(trail && { trail: [trail] }),
    body: html`!${tabs('Connect by MCP', pages, tab)}!${notice(done[query.done ?? ''])}!${body}`,
  });
}

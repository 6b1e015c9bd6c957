import { pluginEndpoints } from '@acp/contract';
import { presentPlugin } from '@acp/core';
import { roleIn } from '../../http/roles.ts';
import { companyPage } from '../kit/company-frame.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { formError, notice, tabs } from '../kit/parts.ts';
import type { UiContext } from '../kit/ui-routes.ts';

export const byPlugin = { by: 'plugin', param: 'pluginId' } as const;
export const byCompany = { by: 'company', param: 'companyId' } as const;
export type PluginContext = UiContext<'plugin'>;

export const listPath = (company_id: string): string => `/companies/${company_id}/plugins`;

export const isAdmin = ({ user, company_id }: Pick<UiContext, 'user' | 'company_id'>): boolean =>
  roleIn(user, company_id) === 'admin';

/** Without the feature flag there are no plugin pages, as in the API. */
export function requirePlugins({ services }: Pick<UiContext, 'services'>): void {
  services.instance.requireFeature(pluginEndpoints.list);
}

const done: Record<string, string> = texts({
  created: 'The plugin has been registered. It can’t run until its binary is allowed.',
  allowed: 'Allowed: from now on exactly that copy of the binary runs.',
  banned: 'Banned. It can’t be started.',
  rescinded: 'The ban has been lifted. It must be allowed again.',
  started: 'Started.',
  stopped: 'Stopped.',
  restarted: 'Restarted.',
  enabled: 'Switched on. It can be started.',
  disabled: 'Switched off.',
  saved: 'Saved. A running plugin picks it up at its next start.',
  deleted: 'The plugin has been deleted.',
});

export const doneNotice = ({ query }: Pick<UiContext, 'query'>): Html => notice(done[query.done ?? '']);

/** Frame of a plugin's pages, with tabs. */
export async function pluginPage(
  context: PluginContext,
  tab: string,
  body: Html,
  error: string | null = null,
): Promise<Html> {
  requirePlugins(context);
  const { name, id } = presentPlugin(context.subject);
  const own = `/plugins/${id}`;
  const active = listPath(context.company_id);
  const pages = [
    { label: t`Plugin`, path: own },
    { label: t`Tools`, path: `${own}/tools` },
    { label: t`Work`, path: `${own}/work` },
    { label: t`Log`, path: `${own}/log` },
    ...(isAdmin(context) ? [{ label: t`Settings`, path: `${own}/settings` }] : []),
  ];
  return companyPage(context, {
    title: name,
    active,
    trail: [{ label: t`Plugins`, path: active }],
    body: html`!${tabs('Plugin', pages, own + tab)}!${formError(error)}!${body}`,
  });
}

import { pluginEndpoints as rows } from '@acp/contract';
import { pluginHealth, presentPlugin } from '@acp/core';
import { html, type Html, when } from '../kit/html.ts';
import { action, page, type UiRoute } from '../kit/ui-routes.ts';
import { byPlugin, doneNotice, isAdmin, listPath, type PluginContext, pluginPage } from './plugin-frame.ts';
import { approvalCard, boundsCard, errorCard, runActs, stateFacts } from './state-parts.ts';
import { readSettings, settingsPage } from './settings-page.ts';

const viewer = { scope: byPlugin, role: 'viewer' } as const;

async function statePart(context: PluginContext): Promise<Html> {
  const { tx, subject } = context;
  const plugin = presentPlugin(subject);
  const health = await pluginHealth(tx, subject);
  const admin = isAdmin(context);
  return html`<div class="columns">
    <div>
      !${errorCard(plugin)}
      !${when(plugin.description, (text) => html`<section class="card"><p>${text}</p></section>`)}
      !${approvalCard(plugin, admin)}!${boundsCard(health)}
    </div>
    <aside class="card">!${stateFacts(plugin, health)}!${when(admin, () => runActs(plugin))}</aside>
  </div>`;
}

async function overview(context: PluginContext, error: string | null = null): Promise<Html> {
  const { id } = context.subject;
  // What was done has led to the state that is shown: it goes with it.
  const body = html`<div data-live="plugin:${id}" data-source="/plugins/${id}/part/state">
    !${doneNotice(context)}!${await statePart(context)}
  </div>`;
  return pluginPage(context, '', body, error);
}

const back = (what: string) => (c: PluginContext) => `/plugins/${c.subject.id}?done=${what}`;
const failed = (c: PluginContext, error: string): Promise<Html> => overview(c, error);

export const pluginRoutes: UiRoute[] = [
  page('/plugins/{pluginId}', viewer, (c) => overview(c)),
  page('/plugins/{pluginId}/part/state', viewer, statePart),
  page('/plugins/{pluginId}/settings', { scope: byPlugin, role: 'admin' }, (c) => settingsPage(c)),
  action('/plugins/{pluginId}/allow', rows.allow, { next: back('allowed'), failed }),
  action('/plugins/{pluginId}/ban', rows.ban, { next: back('banned'), failed }),
  action('/plugins/{pluginId}/rescind-ban', rows.rescindBan, { next: back('rescinded'), failed }),
  action('/plugins/{pluginId}/start', rows.start, { next: back('started'), failed }),
  action('/plugins/{pluginId}/stop', rows.stop, { next: back('stopped'), failed }),
  action('/plugins/{pluginId}/restart', rows.restart, { next: back('restarted'), failed }),
  action('/plugins/{pluginId}/enabled', rows.update, {
    read: (form) => ({ enabled: form.checked('enabled') }),
    next: (c, { enabled }) => back(enabled ? 'enabled' : 'disabled')(c),
    failed,
  }),
  action('/plugins/{pluginId}/settings', rows.update, {
    read: readSettings,
    edits: (c) => settingsPage(c),
    next: (c) => `/plugins/${c.subject.id}/settings?done=saved`,
    failed: settingsPage,
  }),
  action('/plugins/{pluginId}/delete', rows.delete, {
    next: (c) => `${listPath(c.company_id)}?done=deleted`,
    failed: settingsPage,
  }),
];

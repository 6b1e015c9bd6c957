import { pluginEndpoints as rows, type PluginTool } from '@acp/contract';
import { listPluginTools, ownTool, toolsOf } from '@acp/core';
import { notFound, readableJson } from '@acp/kernel';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, formError } from '../kit/parts.ts';
import { action, page, type UiRoute } from '../kit/ui-routes.ts';
import { byPlugin, isAdmin, type PluginContext, pluginPage } from './plugin-frame.ts';
import { readTool, toolFields } from './tool-form.ts';

/** Result of the last try. */
interface Tried {
  tool: string;
  error?: string;
  result?: unknown;
  form: FormValues;
}

/** Maximum length of a result shown; agents and the API get all of it. */
const SHOWN = 50_000;

async function toolsPart(context: PluginContext, tried: Tried | null = null): Promise<Html> {
  const tools = toolsOf(context.subject);
  const called = await listPluginTools(context.tx, context.company_id);
  const isCalled = (tool: PluginTool) =>
    called.some(({ plugin_id, tool: name }) => plugin_id === tool.plugin_id && name === tool.tool);
  return tools.length > 0
    ? each(tools, (tool, index) =>
        toolCard(
          { ...tool, is_called: isCalled(tool) },
          index,
          context,
          tried?.tool === tool.tool ? tried : null,
        ),
      )
    : emptyState('No tools', html`They are known only while the plugin is running.`);
}

async function toolsPage(context: PluginContext, tried: Tried | null = null): Promise<Html> {
  const { id } = context.subject;
  const part = await toolsPart(context, tried);
  // The result of a try is only in this response: it stays until the reader leaves.
  const body =
    tried === null
      ? html`<div data-live="plugin:${id}" data-source="/plugins/${id}/part/tools">!${part}</div>`
      : part;
  return pluginPage(context, '/tools', body);
}

/** @param tool `is_called`: by its name, which may be that of another plugin's tool */
function toolCard(
  tool: PluginTool & { is_called: boolean },
  index: number,
  context: PluginContext,
  tried: Tried | null,
): Html {
  const { tool: qualified, name, namespace, description, input_schema, plugin_id, is_called } = tool;
  const path = `/plugins/${plugin_id}/tools/${encodeURIComponent(qualified)}`;
  const form = () =>
    html`<form method="post" action="${path}">
      !${formError(new FieldErrors(tried?.error ?? null).general)}!${toolFields(tool, `t${index}`, tried?.form ?? null)}
      <button>Try it</button>
    </form>`;
  return html`<section class="card" id="tool-${qualified}">
    <h2>${name}</h2>
    <p>${description}</p>
    <p class="soft small">
      !${
        is_called
          ? html`Agents call <code>/mcp:${namespace}__${name} {…}</code>, people
              <code>${namespace}:${name}</code> by the API.`
          : html`Agents who call <code>/mcp:${namespace}__${name}</code> reach another plugin, which
              registered the name first.`
      }
    </p>
    !${when(isAdmin(context), form)}
    !${when(
      tried && 'result' in tried && tried,
      ({ result }) =>
        html`<h3>Result</h3>
          <pre class="wrapped" role="status">${shown(result)}</pre>`,
    )}
    <details>
      <summary>Input schema</summary>
      <pre class="wrapped">${readableJson(input_schema)}</pre>
    </details>
  </section>`;
}

function shown(result: unknown): string {
  const text = typeof result === 'string' ? result : readableJson(result);
  return text.length > SHOWN
    ? `${text.slice(0, SHOWN)}\n${t`… ${text.length - SHOWN} more characters`}`
    : text;
}

const toolOf = ({ params, subject }: PluginContext): PluginTool => {
  const tool = ownTool(subject, params.tool ?? '');
  if (tool === undefined) throw notFound('there is no such tool');
  return tool;
};

export const pluginToolRoutes: UiRoute[] = [
  page('/plugins/{pluginId}/tools', { scope: byPlugin, role: 'viewer' }, (c) => toolsPage(c)),
  page('/plugins/{pluginId}/part/tools', { scope: byPlugin, role: 'viewer' }, (c) => toolsPart(c)),
  action('/plugins/{pluginId}/tools/{tool}', rows.invokeOwnTool, {
    read: (form, c) => ({ tool: c.params.tool, input: readTool(toolOf(c), form) }),
    // The result is shown in this response: it is not stored.
    next: (c, { result }, form) => toolsPage(c, { tool: c.params.tool ?? '', result, form }),
    failed: (c, error, form) => toolsPage(c, { tool: c.params.tool ?? '', error, form }),
  }),
];

import { anyPluginStarting, listPluginTools } from '../plugins/index.ts';
import type { ToolCall, ToolProvider } from './provider.ts';

/** Has the plugin's scheduler call a tool. @throws whatever the tool or its validation throws */
type InvokePlugin = (
  command: { plugin_id: string; namespace: string; name: string; input: unknown },
  caller: Pick<ToolCall, 'actor' | 'company_id'>,
  signal: AbortSignal,
) => Promise<unknown>;

/** Tools of the company's running plugins, as `namespace__name`. */
export const pluginTools: ToolProvider = {
  name: 'plugins',
  timeout_ms: 30_000,
  async list(tx, company_id) {
    const tools = await listPluginTools(tx, company_id);
    return tools.map(({ plugin_id, namespace, name, description, input_schema }) => ({
      namespace,
      name,
      doc: description,
      input_schema,
      role: 'member' as const,
      permission: 'plugins.invoke' as const,
      read_only: false,
      plugin_id,
      // Validated by the process's scheduler, which has compiled the schema.
      validate: (input: unknown) => input,
    }));
  },
  coming: anyPluginStarting,
};

/** The same tools, callable by means of `invoke`. */
export const pluginToolProvider = (invoke: InvokePlugin): ToolProvider => ({
  ...pluginTools,
  async prepare({ tool, input, actor, company_id }, signal) {
    const { namespace, name } = tool;
    const { plugin_id } = tool as typeof tool & { plugin_id: string };
    return invoke({ plugin_id, namespace, name, input }, { actor, company_id }, signal);
  },
});

/** Awaited commands for plugins, executed by the scheduler that owns the process's lease. */
import { Type } from 'typebox';
import { OneOf, Uuid } from './schema-kit.ts';
import { PluginToolResult, PluginWebhookDelivered } from './plugins.ts';

/** Name of the lease of a plugin's process, used in commands. */
export const pluginLease = ({ plugin_id }: { plugin_id: string }) => `plugin:${plugin_id}`;

const ofPlugin = Type.Object({ plugin_id: Uuid });

export const pluginCommands = {
  'allow-plugin': {
    payload: ofPlugin,
    result: ofPlugin,
    deadline_sec: 30,
    taken_by: 'any',
    doc: 'Copies a plugin’s binary into storage and allows it by its hash.',
  },
  'start-plugin': {
    payload: Type.Object({ plugin_id: Uuid, how: OneOf(['start', 'restart']) }),
    result: ofPlugin,
    deadline_sec: 30,
    taken_by: 'any',
    doc: 'Has a scheduler start the process, and waits until it is ready.',
  },
  'stop-plugin': {
    payload: ofPlugin,
    result: ofPlugin,
    deadline_sec: 15,
    taken_by: 'any',
    doc: 'Waits until the process has ended, wherever it runs.',
  },
  'invoke-plugin-tool': {
    payload: Type.Object({
      plugin_id: Uuid,
      namespace: Type.String(),
      name: Type.String(),
      input: Type.Unknown(),
    }),
    result: PluginToolResult,
    deadline_sec: 30,
    taken_by: pluginLease,
    doc: 'Calls a tool of the process.',
  },
  'deliver-plugin-webhook': {
    payload: Type.Object({
      plugin_id: Uuid,
      path: Type.String(),
      headers: Type.Record(Type.String(), Type.String()),
      body_base64: Type.String(),
    }),
    result: PluginWebhookDelivered,
    deadline_sec: 30,
    taken_by: pluginLease,
    doc: 'Passes a webhook to the process.',
  },
} as const;

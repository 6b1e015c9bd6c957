import { type HostMessage, MAX_PLUGIN_MESSAGE_BYTES, type PluginMessage } from '@acp/contract';
import { encodeMessage, readPluginMessage } from '@acp/plugin-protocol';
import { LineProcess, type Lines, type ProcessHandlers } from './line-process.ts';
import type { SandboxedCommand } from './sandbox.ts';

export type { ProcessEnd } from './line-process.ts';

export type PluginProcess = LineProcess<HostMessage, PluginMessage>;

/** The plugin process protocol (specification). */
const pluginLines: Lines<HostMessage, PluginMessage> = {
  who: 'plugin',
  longest: MAX_PLUGIN_MESSAGE_BYTES,
  encode: encodeMessage,
  read: readPluginMessage,
  farewell: { type: 'shutdown', payload: {} },
};

export const startProcess = (
  command: SandboxedCommand,
  handlers: ProcessHandlers<PluginMessage>,
): PluginProcess => new LineProcess(command, pluginLines, handlers);

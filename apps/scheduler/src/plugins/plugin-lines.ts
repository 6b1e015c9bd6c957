import { type HostMessage, MAX_PLUGIN_MESSAGE_BYTES, type PluginMessage } from '@acp/contract';
import { encodeMessage, readPluginMessage } from '@acp/plugin-protocol';
import { LineProcess, type Lines, type ProcessHandlers } from './line-process.ts';
import type { SandboxedCommand } from './sandbox.ts';

export type { ProcessEnd } from './line-process.ts';

export type PluginProcess = LineProcess<HostMessage, PluginMessage>;

/** The plugin process protocol (specification). */
const pluginLines = (isHealthAsked: () => boolean): Lines<HostMessage, PluginMessage> => ({
  who: 'plugin',
  longest: MAX_PLUGIN_MESSAGE_BYTES,
  encode: encodeMessage,
  read: (line) => readPluginMessage(line, { health_asked: isHealthAsked() }),
  farewell: { type: 'shutdown', payload: {} },
});

/** @param isHealthAsked whether a health check is not answered yet */
export const startProcess = (
  command: SandboxedCommand,
  handlers: ProcessHandlers<PluginMessage>,
  isHealthAsked: () => boolean,
): PluginProcess => new LineProcess(command, pluginLines(isHealthAsked), handlers);

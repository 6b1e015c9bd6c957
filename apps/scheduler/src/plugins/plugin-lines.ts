import { type HostMessage, MAX_PLUGIN_MESSAGE_BYTES, type PluginMessage } from '@acp/contract';
import { encodeMessage, readPluginMessage } from '@acp/plugin-protocol';
import type { LineProcess, Lines } from './line-process.ts';

export type PluginProcess = LineProcess<HostMessage, PluginMessage>;

/** The plugin process protocol (specification). */
export const pluginLines: Lines<HostMessage, PluginMessage> = {
  who: 'plugin',
  longest: MAX_PLUGIN_MESSAGE_BYTES,
  encode: encodeMessage,
  read: readPluginMessage,
  farewell: { type: 'shutdown', payload: {} },
};

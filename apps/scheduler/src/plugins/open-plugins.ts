import { flagEnabled } from '@acp/core';
import { PluginHost, type PluginHostSettings } from './plugin-host.ts';

/** This scheduler's plugin host, which runs plugins as long as they are switched on. */
export function openPlugins(parts: Omit<PluginHostSettings, 'enabled'>): PluginHost {
  return new PluginHost({ ...parts, enabled: async () => flagEnabled(parts.database.db, 'plugins') });
}

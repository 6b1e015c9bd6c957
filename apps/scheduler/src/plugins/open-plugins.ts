import { flagEnabled } from '@acp/core';
import { PluginHost, type PluginHostSettings } from './plugin-host.ts';

/** This scheduler's part in running plugins, as far as they are switched on. */
export function openPlugins(parts: Omit<PluginHostSettings, 'enabled'>): PluginHost {
  return new PluginHost({ ...parts, enabled: async () => flagEnabled(parts.database.db, 'plugins') });
}

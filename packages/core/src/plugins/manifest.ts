import type { PluginManifestJob, PluginManifestTool } from '@acp/contract';
import type { PluginRow } from './store.ts';

/** A manifest as it is stored: without gaps. */
export interface CheckedManifest {
  name: string;
  tools: PluginManifestTool[];
  events: string[];
  jobs: PluginManifestJob[];
  webhooks: { path: string }[];
}

/** Of a running plugin; of any other nothing. */
export function manifestOf({ state, manifest }: Pick<PluginRow, 'state' | 'manifest'>): CheckedManifest {
  const none = { name: '', tools: [], events: [], jobs: [], webhooks: [] };
  return state === 'running' ? ((manifest as CheckedManifest | null) ?? none) : none;
}

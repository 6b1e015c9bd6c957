import type { CheckedManifest } from '@acp/contract';
import type { PluginRow } from './store.ts';

/** The manifest of a running plugin; empty for any other. */
export function manifestOf({ state, manifest }: Pick<PluginRow, 'state' | 'manifest'>): CheckedManifest {
  const none = { name: '', tools: [], events: [], jobs: [], webhooks: [] };
  return state === 'running' ? ((manifest as CheckedManifest | null) ?? none) : none;
}

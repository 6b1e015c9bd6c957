import type { CheckedManifest } from '@acp/contract';
import type { PluginRow } from './store.ts';

/** Of a running plugin; of any other nothing. */
export function manifestOf({ state, manifest }: Pick<PluginRow, 'state' | 'manifest'>): CheckedManifest {
  const none = { name: '', tools: [], events: [], jobs: [], webhooks: [] };
  return state === 'running' ? ((manifest as CheckedManifest | null) ?? none) : none;
}

import { type Actor, type Plugin, roleIn } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { conflict, forbidden, said } from '@acp/kernel';
import { eq } from 'drizzle-orm';
import { keepStorageKeys } from '../attachments/index.ts';
import { systemActor } from '../activity/index.ts';
import { isHolding, noteReleased } from './names.ts';
import { lockPlugin, type PluginRow, presentPlugin } from './store.ts';
import { decide, recordPluginChange, notifyHosts } from './transitions.ts';

const { plugin_binaries, plugins } = schema;

export type Decision = 'allow' | 'ban' | 'rescind-ban';

/** The binary's bytes are read once, both for the hash and for storage. */
interface BinaryCopy {
  storage_key: string;
  sha256: string;
  size_bytes: number;
}

/** Null if the actor may decide; otherwise the error, which the caller throws once the attempt is recorded. */
export async function refuseDecision(
  tx: Tx,
  actor: Actor,
  plugin: PluginRow,
  decision: Decision,
): Promise<Error | null> {
  if (roleIn(actor, plugin.company_id) === 'admin') return null;
  await recordPluginChange(tx, actor, plugin, `plugin.${decision.replace('-', '_')}_denied`, {
    outcome: 'denied',
  });
  return forbidden('admin role required');
}

/** @throws conflict if the plugin has no binary */
export function assertAllowable({ binary_path }: PluginRow): string {
  if (binary_path === null) throw conflict('plugin has no binary_path');
  return binary_path;
}

/**
 * Allows the copy. Allowing a plugin again accepts a file that was replaced deliberately.
 * @throws conflict if the file's hash differs from the registered one, or the path was changed in the meantime
 */
export async function allowPlugin(
  tx: Tx,
  actor: Actor,
  id: string,
  { storage_key, sha256, size_bytes }: BinaryCopy,
  binary_path: string,
): Promise<Plugin> {
  const plugin = await lockPlugin(tx, id);
  if (plugin.binary_path !== binary_path) throw conflict('plugin binary_path has changed in the meantime');
  if (plugin.binary_hash !== null && plugin.binary_hash !== sha256)
    throw conflict(said`plugin binary has the hash ${sha256}, not the registered binary_hash`);
  await keepStorageKeys(tx, [storage_key]);
  const copy = { storage_key, sha256, size_bytes };
  await tx
    .insert(plugin_binaries)
    .values({ plugin_id: id, ...copy })
    .onConflictDoUpdate({ target: plugin_binaries.plugin_id, set: copy });
  const details = { sha256, size_bytes, binary_path: plugin.binary_path };
  const set = { approved_binary_hash: sha256 };
  const row = await decide(
    tx,
    actor,
    plugin,
    'allowed',
    { message: 'allowed', details, set },
    'plugin.allowed',
  );
  return presentPlugin(row);
}

/** The process is stopped by its owner. */
export async function banPlugin(tx: Tx, actor: Actor, id: string): Promise<PluginRow> {
  const plugin = await lockPlugin(tx, id);
  notifyHosts(tx, id);
  const set = { wanted: false, next_start_at: null };
  const banned = await decide(tx, actor, plugin, 'banned', { message: 'banned', set }, 'plugin.banned');
  if (isHolding(plugin) && !isHolding(banned)) await noteReleased(tx, banned);
  return banned;
}

/** @throws conflict if the plugin is not banned */
export async function rescindBan(tx: Tx, actor: Actor, id: string): Promise<Plugin> {
  const plugin = await lockPlugin(tx, id);
  if (plugin.approval_state !== 'banned') throw conflict('plugin is not banned');
  const change = { message: 'the ban was rescinded', set: { approved_binary_hash: null } };
  await tx.delete(plugin_binaries).where(eq(plugin_binaries.plugin_id, id));
  return presentPlugin(await decide(tx, actor, plugin, 'pending', change, 'plugin.ban_rescinded'));
}

/** Called when the file on disk is not the allowed one (specification, Start rules). */
export async function revertApproval(tx: Tx, id: string, actual_hash: string): Promise<void> {
  const plugin = await lockPlugin(tx, id);
  const { approval_state, approved_binary_hash } = plugin;
  if (approval_state !== 'allowed' || approved_binary_hash === actual_hash) return;
  const details = { approved_hash: approved_binary_hash, actual_hash };
  const set = { wanted: false, next_start_at: null };
  const message = 'the binary has changed since it was allowed: pending again';
  await decide(
    tx,
    systemActor('plugins'),
    plugin,
    'pending',
    { message, details, set },
    'plugin.approval_reverted',
  );
}

export interface ApprovedBinary {
  storage_key: string;
  sha256: string;
  size_bytes: number;
}

/** The copy that may be run now; undefined if none may. */
export async function approvedBinary(tx: Tx, id: string): Promise<ApprovedBinary | undefined> {
  const [row] = await tx
    .select({
      storage_key: plugin_binaries.storage_key,
      sha256: plugin_binaries.sha256,
      size_bytes: plugin_binaries.size_bytes,
      state: plugins.approval_state,
      approved: plugins.approved_binary_hash,
    })
    .from(plugin_binaries)
    .innerJoin(plugins, eq(plugins.id, plugin_binaries.plugin_id))
    .where(eq(plugin_binaries.plugin_id, id));
  return row?.state === 'allowed' && row.approved === row.sha256 ? row : undefined;
}

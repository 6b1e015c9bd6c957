import {
  type Actor,
  type InstanceSettings,
  instanceSettings,
  isSettingKey,
  type SettingKey,
  type UpdateInstanceSettings,
} from '@acp/contract';
import { lockByName, schema, signal, type Tx, WILDCARD } from '@acp/db';
import { invalid, said } from '@acp/kernel';
import { inArray, sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';
import { checkedSetting } from './settings.ts';

const { instance_settings } = schema;

const keys = Object.keys(instanceSettings).filter(isSettingKey);

/** All settings; null means the environment's default. Internal facts of the instance in the same table are excluded. */
export async function readSettings(tx: Tx): Promise<InstanceSettings> {
  const rows = await tx.select().from(instance_settings).where(inArray(instance_settings.key, keys));
  const stored = new Map(rows.map(({ key, value }) => [key, value]));
  const entries = keys.map((key) => [key, stored.has(key) ? checkedSetting(key, stored.get(key)) : null]);
  return Object.fromEntries(entries) as InstanceSettings;
}

/** Sets the keys in the patch; null restores the default. @throws invalid for an unknown key or an invalid value */
export async function changeSettings(
  tx: Tx,
  actor: Actor,
  patch: UpdateInstanceSettings,
): Promise<InstanceSettings> {
  const named = Object.entries(patch).map(([key, value]) => {
    if (!isSettingKey(key)) throw invalid(said`unknown setting: ${key}`);
    return { key, value: value === null ? null : checkedSetting(key, value) };
  });
  // Each patch names its keys in an order of its own.
  await lockByName(tx, 'instance settings');
  const put = named.filter(({ value }) => value !== null);
  const cleared: SettingKey[] = named.filter(({ value }) => value === null).map(({ key }) => key);
  if (put.length > 0)
    await tx
      .insert(instance_settings)
      .values(put)
      .onConflictDoUpdate({
        target: instance_settings.key,
        set: { value: sql`excluded.value`, updated_at: sql`now()` },
      });
  if (cleared.length > 0) await tx.delete(instance_settings).where(inArray(instance_settings.key, cleared));
  // Both affect whether cached sessions are still valid.
  if ('require_second_factor' in patch || 'session_idle_minutes' in patch)
    signal(tx, 'credentials', WILDCARD);
  if ('runs_paused' in patch) signal(tx, 'instance', 'runs_paused');
  if (named.length > 0) await recordInstanceAct(tx, actor, 'settings.updated', patch);
  return readSettings(tx);
}

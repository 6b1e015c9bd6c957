/** Lifetime of agents' and integrations' keys, and announcing its end. */
import type { Actor } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { type SQL, sql } from 'drizzle-orm';
import { recordChanges, systemActor } from '../activity/index.ts';
import { recordSecurityEvents } from '../security/index.ts';

const { board_user_keys } = schema;

/** How many days ahead a key's expiry is announced. */
export const KEY_WARNING_DAYS = 7;

/** Number of keys announced per transaction. */
export const KEY_WARNING_BATCH = 200;

/**
 * Expiry of a new key; null: never. A key created with another key does not outlive it; otherwise an expiring key could renew
 * itself.
 */
export function keyExpiry(actor: Actor, days: number | null | undefined): SQL {
  const own = 'key_id' in actor ? actor.key_id : null;
  return sql`least(now() + make_interval(days => ${days ?? null}::int),
    (select expires_at from agent_api_keys where id = ${own}::uuid),
    (select expires_at from board_user_keys where id = ${own}::uuid))`;
}

interface ExpiringKey {
  id: string;
  company_id: string;
  label: string | null;
  key_prefix: string;
  expires_at: Date | null;
}

/** Records it in the security log and notifies the company's admins. */
export async function announceExpiry(
  tx: Tx,
  entity_type: 'agent_key' | 'board_user_key',
  marked: readonly ExpiringKey[],
): Promise<void> {
  const keys = marked.map((key) => ({
    ...key,
    label: key.label ?? key.key_prefix,
    expires_at: key.expires_at!,
  }));
  await recordSecurityEvents(
    tx,
    keys.map(({ id, company_id, label, key_prefix, expires_at }) => ({
      kind: 'key.expiring',
      key_id: id,
      company_id,
      subject: label,
      details: { key_prefix, expires_at },
    })),
  );
  await recordChanges(
    tx,
    systemActor('engine'),
    keys.map(({ id, company_id, label, key_prefix, expires_at }) => {
      const entity = { entity_type, entity_id: id };
      const message = `the key ${label} (${key_prefix}…) ends on ${expires_at.toISOString().slice(0, 10)}`;
      const data = { topic: 'key_expiring', level: 'warning', message, ...entity } as const;
      return {
        company_id,
        ...entity,
        action: `${entity_type}.expiring`,
        details: { expires_at },
        event: { type: 'notification', data },
      };
    }),
  );
}

/** Warns of expiring board-user keys; agents' keys are handled by their slice. @returns how many, at most `KEY_WARNING_BATCH` */
export async function warnOfExpiringBoardUserKeys(tx: Tx): Promise<number> {
  const keys = await tx
    .update(board_user_keys)
    .set({ expiry_warned_at: sql`now()` })
    .where(expiringSoon(board_user_keys))
    .returning();
  await announceExpiry(tx, 'board_user_key', keys);
  return keys.length;
}

/** The next keys of either table that expire soon and are not announced yet; keys of trashed entities are void anyway. */
export const expiringSoon = (table: typeof board_user_keys | typeof schema.agent_api_keys): SQL => sql`id in (
  select key.id from ${table} key join companies c on c.id = key.company_id and c.deleted_at is null
  where key.expiry_warned_at is null and key.expires_at > now()
    and key.expires_at < now() + make_interval(days => ${KEY_WARNING_DAYS})
  order by key.expires_at limit ${KEY_WARNING_BATCH} for update of key skip locked)`;

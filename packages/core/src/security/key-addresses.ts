import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { type NewSecurityEvent, recordSecurityEvents } from './record-events.ts';

export interface KeyUse {
  key_id: string;
  company_id: string;
  /** The key's label or its agent's name. */
  subject: string;
  address: string;
}

/** Maximum number of addresses stored per key, most recently used first. */
const KEPT_PER_KEY = 200;

/**
 * Records the addresses that keys were used from. A new address of a key that already has others is an event; a key's first
 * address is not. If several processes report an address concurrently, only one of them records the event.
 */
export async function noteKeyAddresses(tx: Tx, uses: readonly KeyUse[]): Promise<void> {
  if (uses.length === 0) return;
  const { rows } = await tx.execute<{ key_id: string; address: string }>(sql`
    with used as (
      select distinct key_id, address from jsonb_to_recordset(${JSON.stringify(uses)}::jsonb) as u(key_id uuid, address text)
    ), known as (select distinct key_id from key_addresses where key_id in (select key_id from used)
    ), noted as (
      insert into key_addresses (key_id, address) select key_id, address from used
      on conflict (key_id, address) do update set uses = key_addresses.uses + 1, last_used_at = now()
        where key_addresses.last_used_at < now() - interval '1 hour'
      returning key_id, address, uses
    )
    select n.key_id, n.address from noted n join known k on k.key_id = n.key_id where n.uses = 1`);
  if (rows.length === 0) return;
  const events = rows.flatMap(({ key_id, address }): NewSecurityEvent[] => {
    const use = uses.find((each) => each.key_id === key_id && each.address === address);
    if (!use) return [];
    const { company_id, subject } = use;
    return [{ kind: 'key.new_address', key_id, company_id, subject, place: { address, user_agent: null } }];
  });
  await recordSecurityEvents(tx, events);
  const keys = JSON.stringify(rows.map(({ key_id }) => key_id));
  await tx.execute(sql`
    delete from key_addresses where (key_id, address) in (
      select key_id, address from (
        select key_id, address, row_number() over (partition by key_id order by last_used_at desc) as place
        from key_addresses where key_id in (select jsonb_array_elements_text(${keys}::jsonb)::uuid)) ranked
      where place > ${KEPT_PER_KEY})`);
}

/** Retention: an address unused for this long counts as new again. */
export async function deleteOldKeyAddresses(tx: Tx, days: number): Promise<void> {
  await tx.execute(
    sql`delete from key_addresses where last_used_at < now() - make_interval(days => ${days})`,
  );
}

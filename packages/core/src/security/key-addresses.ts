import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { type NewSecurityEvent, recordSecurityEvents } from './record-events.ts';

export interface KeyUse {
  key_id: string;
  company_id: string;
  /** Label of the key or name of its agent. */
  subject: string;
  address: string;
}

/** Of each key the addresses of the last use are remembered, no more. */
const KEPT_PER_KEY = 200;

/**
 * Remembers from where keys were used. An address that is new to a key that has others is an event; a key's first
 * address is how it began. Several processes may tell of one address at once: it is new to one of them.
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

/** Retention: what nobody has used for so long is new again. */
export async function deleteOldKeyAddresses(tx: Tx, days: number): Promise<void> {
  await tx.execute(
    sql`delete from key_addresses where last_used_at < now() - make_interval(days => ${days})`,
  );
}

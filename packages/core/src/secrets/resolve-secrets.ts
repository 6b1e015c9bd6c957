import type { Tx } from '@acp/db';
import { invalid, said, type Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { replaceSecrets, secretNames } from './references.ts';
import { secretPlace } from './secrets.ts';

export interface Resolved<T> {
  /** Plain text for immediate use; never stored or logged. */
  value: T;
  /** The secret values it contains, for the Scrubber. */
  secrets: string[];
}

/**
 * Replaces `${secret:NAME}` in every string of a JSON value (decisions 3, Secrets): one statement for all names, none without
 * references. `last_used_at` is accurate to a minute and skipped if locked, so runs that use the same secret don't queue for
 * its row.
 * @throws invalid naming an unknown secret; unavailable without the key that sealed it
 */
export async function resolveSecrets<T>(
  tx: Tx,
  company_id: string,
  value: T,
  vault: Vault,
): Promise<Resolved<T>> {
  const names = [...secretNames(value)];
  if (names.length === 0) return { value, secrets: [] };
  const { rows } = await tx.execute<{ id: string; name: string; sealed: string }>(sql`
    with wanted as materialized (
      select id, name, sealed, last_used_at from secrets where company_id = ${company_id} and name in ${names}
    ), stale as (
      select s.id from secrets s
      where s.id in (select id from wanted where last_used_at is null or last_used_at < now() - interval '1 minute')
      for update skip locked
    ), used as (
      update secrets s set last_used_at = now() from stale where s.id = stale.id
    )
    select id, name, sealed from wanted`);
  const values = new Map(
    rows.map(({ id, name, sealed }) => [name, vault.unseal(sealed, secretPlace(id))] as const),
  );
  const unknown = names.find((name) => !values.has(name));
  if (unknown !== undefined) throw invalid(said`unknown secret: ${unknown}`);
  return { value: replaceSecrets(value, values), secrets: [...values.values()] };
}

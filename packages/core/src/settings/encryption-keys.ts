/**
 * Fingerprints of the keys that may have sealed something in this database (decisions 7.29): a process with other keys would
 * store what no one else can read, and fail to read what is stored, so it does not start.
 */
import { schema, type Tx } from '@acp/db';
import type { Vault } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';

const { instance_settings } = schema;

// Stored among internal facts of the instance rather than readable settings.
const KEY = 'encryption_keys';

/**
 * Called when a tier starts: every key in use must be in the vault; a new current key is recorded as well. Without a key nothing
 * is compared: secrets then can't be stored or used, which is reported as 503.
 * @throws Error that says how to fix it
 */
export async function admitEncryptionKey(tx: Tx, vault: Vault): Promise<void> {
  if (vault.fingerprint === null) return;
  // Two processes with different keys may start concurrently: the second sees what the first has written.
  const { rows } = await tx.execute<{ value: string[] }>(sql`
    insert into instance_settings as held (key, value)
    values (${KEY}, ${JSON.stringify([vault.fingerprint])}::jsonb)
    on conflict (key) do update set value = held.value returning value`);
  const used = rows[0]?.value ?? [];
  const strange = used.filter((fingerprint) => !vault.opens(fingerprint));
  if (strange.length > 0) throw new Error(repairHint(vault.fingerprint, strange));
  if (!used.includes(vault.fingerprint)) await write(tx, [...used, vault.fingerprint]);
}

/** Fingerprints of keys in use that are missing from the vault; empty without a key, when nothing can be decrypted anyway. */
export async function unknownEncryptionKeys(tx: Tx, vault: Vault): Promise<string[]> {
  if (vault.fingerprint === null) return [];
  const [row] = await tx.select().from(instance_settings).where(eq(instance_settings.key, KEY));
  const used = Array.isArray(row?.value) ? row.value.map(String) : [];
  return used.filter((fingerprint) => !vault.opens(fingerprint));
}

/** After everything has been rewrapped, only the current key is in use. */
export async function noteOnlyEncryptionKey(tx: Tx, fingerprint: string): Promise<void> {
  await write(tx, [fingerprint]);
}

async function write(tx: Tx, value: string[]): Promise<void> {
  await tx
    .update(instance_settings)
    .set({ value, updated_at: sql`now()` })
    .where(eq(instance_settings.key, KEY));
}

function repairHint(current: string, strange: readonly string[]): string {
  return (
    `SERVICE_ENCRYPTION_KEY (fingerprint ${current}) is not the key of this database (${strange.join(', ')}): ` +
    'set that key again; or, to rotate, list it in SERVICE_ENCRYPTION_KEY_PREVIOUS beside the new one and run `npm run ctl -- secrets rewrap`'
  );
}

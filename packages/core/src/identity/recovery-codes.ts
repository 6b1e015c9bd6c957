import { schema, type Tx } from '@acp/db';
import { sha256Hex } from '@acp/kernel';
import { and, eq } from 'drizzle-orm';
import { randomBytes } from 'node:crypto';

const { recovery_codes } = schema;

const CODES = 10;
// Crockford's base 32, without ambiguous letters: 16 of them are 80 bits, too many to guess even from a hash.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

function newCode(): string {
  const letters = [...randomBytes(16)].map((byte) => ALPHABET[byte % 32]).join('');
  return letters.replaceAll(/(.{4})(?=.)/g, '$1-');
}

/** Ignores hyphens, spaces and case. */
const hashOf = (code: string) => sha256Hex(code.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));

export async function countRecoveryCodes(tx: Tx, user_id: string): Promise<number> {
  return tx.$count(recovery_codes, eq(recovery_codes.user_id, user_id));
}

/** Ten new codes that replace the former ones. Shown only once. */
export async function replaceRecoveryCodes(tx: Tx, user_id: string): Promise<string[]> {
  const codes = Array.from({ length: CODES }, newCode);
  await tx.delete(recovery_codes).where(eq(recovery_codes.user_id, user_id));
  await tx.insert(recovery_codes).values(codes.map((code) => ({ user_id, code_hash: hashOf(code) })));
  return codes;
}

/** Whether it is one of the user's unused codes; spends it. */
export async function useRecoveryCode(tx: Tx, user_id: string, code: string): Promise<boolean> {
  const used = await tx
    .delete(recovery_codes)
    .where(and(eq(recovery_codes.user_id, user_id), eq(recovery_codes.code_hash, hashOf(code))))
    .returning({ id: recovery_codes.id });
  return used.length > 0;
}

import { type Tx, schema } from '@acp/db';
import { forbidden, newToken, sha256Hex } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { requireEntitlement } from '../settings/index.ts';
import type { UserRow } from './present.ts';
import { bootstrapAdmin, type NewUser } from './users.ts';

const { setup_tokens, users } = schema;

/**
 * A one-time token for the `/setup` page, valid for a day, if there is no user yet; otherwise null. Every web process of a fresh
 * instance prints its own; using any one of them invalidates all.
 */
export async function issueSetupToken(tx: Tx): Promise<string | null> {
  if (await hasUsers(tx)) return null;
  const token = newToken();
  await tx
    .insert(setup_tokens)
    .values({ token_hash: sha256Hex(token), expires_at: sql`now() + interval '1 day'` });
  return token;
}

/** Whether anybody has an account, active or not. */
export async function hasUsers(tx: Tx): Promise<boolean> {
  const [existing] = await tx.select({ id: users.id }).from(users).limit(1);
  return existing !== undefined;
}

/** Whether the token gives access to the set-up page. */
export async function setupTokenValid(tx: Tx, token: string): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select 1 from setup_tokens where token_hash = ${sha256Hex(token)} and expires_at > now()
      and not exists (select 1 from users)`);
  return rows.length > 0;
}

/**
 * Creates the first instance admin and spends all tokens.
 * @throws forbidden for an unknown or spent token, and on a read-only instance: an operator must install a license
 */
export async function completeSetup(
  tx: Tx,
  token: string,
  admin: Omit<NewUser, 'instance_role'>,
): Promise<UserRow> {
  await requireEntitlement(tx);
  if (!(await setupTokenValid(tx, token))) throw forbidden('the setup link is no longer valid');
  const user = await bootstrapAdmin(tx, admin);
  if (!user) throw forbidden('the setup link is no longer valid');
  await tx.delete(setup_tokens);
  return user;
}

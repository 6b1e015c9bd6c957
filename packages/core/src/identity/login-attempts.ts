import { lockByName, schema, type Tx } from '@acp/db';
import { asciiLowerCase } from '@acp/kernel';
import { and, eq, lt, ne, sql } from 'drizzle-orm';

const { login_failures } = schema;

/**
 * Reserves a login attempt for the pair of e-mail and client address before the password is checked, so parallel guesses can't
 * outrun the count. Returns how long the pair or the e-mail is locked (null: not locked, and the attempt counts as failed until
 * `clearLoginFailures`). Lockout of decisions 1: 5 failures for one e-mail from one address within 15 minutes lock the pair for
 * 15 minutes after the last one; 50 from anywhere lock the e-mail.
 */
export async function reserveLoginAttempt(
  tx: Tx,
  email: string,
  address: string,
): Promise<{ locked_sec: number | null }> {
  const key = asciiLowerCase(email);
  await lockByName(tx, `login:${key}`);
  const { rows } = await tx.execute<{ locked_sec: number | null }>(sql`
    with recent as (
      select address, created_at, max(created_at) over (partition by address) as last_of_pair, max(created_at) over () as last
      from login_failures where email = ${key} and created_at > now() - interval '30 minutes'
    )
    select ceil(extract(epoch from greatest(
      (select max(last_of_pair) from recent where address = ${address} and created_at > last_of_pair - interval '15 minutes'
        having count(*) >= 5),
      (select max(last) from recent where created_at > last - interval '15 minutes' having count(*) >= 50)
    ) + interval '15 minutes' - now()))::int as locked_sec`);
  const locked = rows[0]?.locked_sec ?? 0;
  if (locked > 0) return { locked_sec: locked };
  await tx.insert(login_failures).values({ email: key, address });
  return { locked_sec: null };
}

/** Called after a successful login: resets the pair. */
export async function clearLoginFailures(tx: Tx, email: string, address: string): Promise<void> {
  await tx
    .delete(login_failures)
    .where(and(eq(login_failures.email, asciiLowerCase(email)), eq(login_failures.address, address)));
}

/** Failures of the second factor are counted separately, since whoever gets there knows the first one. */
export const SECOND_FACTOR = 'second factor';

/** Called after a password change: guesses at the former password block no one. Guesses at the second factor still do. */
export async function clearLockouts(tx: Tx, email: string): Promise<void> {
  await tx
    .delete(login_failures)
    .where(and(eq(login_failures.email, asciiLowerCase(email)), ne(login_failures.address, SECOND_FACTOR)));
}

/** Retention: drops everything outside the lockout's time window. */
export async function deleteOldLoginFailures(tx: Tx): Promise<void> {
  await tx.delete(login_failures).where(lt(login_failures.created_at, sql`now() - interval '1 hour'`));
}

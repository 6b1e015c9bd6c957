import { schema, type Tx } from '@acp/db';
import { newToken, sha256Hex } from '@acp/kernel';
import { and, eq, gt, sql } from 'drizzle-orm';

const { sign_in_steps } = schema;

/** Minutes allowed between the first and second step of a sign-in. */
export const SIGN_IN_STEP_MINUTES = 10;

export interface SignInStep {
  token_hash: string;
  /** The user who completed the first step; null if a passkey is to identify the user. */
  user_id: string | null;
  method: string;
  challenge: string | null;
  /** SHA-256 of the invite to accept once the sign-in is complete. */
  invite_token: string | null;
  next_path: string | null;
}

/** The token goes into the browser's cookie. */
export async function openSignInStep(
  tx: Tx,
  step: Pick<SignInStep, 'user_id' | 'method' | 'next_path'> & { invite_token?: string | null },
): Promise<{ token: string }> {
  const token = newToken();
  const expires_at = sql`now() + make_interval(mins => ${SIGN_IN_STEP_MINUTES})`;
  await tx.insert(sign_in_steps).values({ ...step, token_hash: sha256Hex(token), expires_at });
  return { token };
}

export async function findSignInStep(tx: Tx, token: string): Promise<SignInStep | undefined> {
  const [step] = await tx
    .select()
    .from(sign_in_steps)
    .where(and(eq(sign_in_steps.token_hash, sha256Hex(token)), gt(sign_in_steps.expires_at, sql`now()`)));
  return step;
}

/** Stores the challenge for a passkey. */
export async function askPasskey(tx: Tx, token_hash: string, challenge: string): Promise<void> {
  await tx.update(sign_in_steps).set({ challenge }).where(eq(sign_in_steps.token_hash, token_hash));
}

/** Takes the challenge, only once: a replayed response does not count. */
export async function takeStepChallenge(tx: Tx, step: SignInStep): Promise<boolean> {
  const taken = await tx
    .update(sign_in_steps)
    .set({ challenge: null })
    .where(
      and(eq(sign_in_steps.token_hash, step.token_hash), eq(sign_in_steps.challenge, step.challenge ?? '')),
    )
    .returning({ token_hash: sign_in_steps.token_hash });
  return taken.length > 0;
}

/** Ends the step once it has led to a sign-in. False if another request was first, or it has ended. */
export async function closeSignInStep(tx: Tx, { token_hash }: SignInStep): Promise<boolean> {
  const closed = await tx
    .delete(sign_in_steps)
    .where(eq(sign_in_steps.token_hash, token_hash))
    .returning({ token_hash: sign_in_steps.token_hash });
  return closed.length > 0;
}

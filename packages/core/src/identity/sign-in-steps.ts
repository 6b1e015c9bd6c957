import { schema, type Tx } from '@acp/db';
import { newToken, sha256Hex } from '@acp/kernel';
import { and, eq, gt, sql } from 'drizzle-orm';

const { sign_in_steps } = schema;

/** Minutes between the first step of a sign-in and the second. */
export const SIGN_IN_STEP_MINUTES = 10;

export interface SignInStep {
  token_hash: string;
  /** Whose first step it was; null where a passkey is to say who it is. */
  user_id: string | null;
  method: string;
  challenge: string | null;
  next_path: string | null;
}

/** The token is for the browser's cookie. */
export async function openSignInStep(
  tx: Tx,
  step: { user_id: string | null; method: string; next_path: string | null },
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

/** What a passkey has to sign next. */
export async function askPasskey(tx: Tx, token_hash: string, challenge: string): Promise<void> {
  await tx.update(sign_in_steps).set({ challenge }).where(eq(sign_in_steps.token_hash, token_hash));
}

/** The challenge, once: an answer that was seen does not count a second time. */
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

/** Ends the step with the sign-in that it led to. False where another request came first, or it was ended. */
export async function closeSignInStep(tx: Tx, { token_hash }: SignInStep): Promise<boolean> {
  const closed = await tx
    .delete(sign_in_steps)
    .where(eq(sign_in_steps.token_hash, token_hash))
    .returning({ token_hash: sign_in_steps.token_hash });
  return closed.length > 0;
}

import { schema, type Tx } from '@acp/db';
import { newToken, sha256Hex } from '@acp/kernel';
import { and, eq, gt, inArray, lt, sql } from 'drizzle-orm';

const { oauth_flows } = schema;

/** Minutes that a user may spend at the provider. */
export const OAUTH_FLOW_MINUTES = 10;

/** The state that the provider's response is checked against. */
export interface OauthFlow {
  provider: string;
  state: string;
  nonce: string;
  code_verifier: string;
  /** The invite to accept with the sign-in. */
  invite_token: string | null;
  /** Local path to continue to; null: the start page. */
  next_path: string | null;
}

/** Stores a sign-in in progress; the token goes into a cookie, which ties the response to this browser. */
export async function openOauthFlow(tx: Tx, flow: OauthFlow): Promise<{ token: string }> {
  const token = newToken();
  const { provider, state, nonce, code_verifier, invite_token, next_path } = flow;
  await tx.insert(oauth_flows).values({
    token_hash: sha256Hex(token),
    provider,
    state,
    nonce,
    code_verifier,
    invite_token,
    next_path,
    expires_at: sql`now() + make_interval(mins => ${OAUTH_FLOW_MINUTES})`,
  });
  return { token };
}

/**
 * Takes the sign-in that a response belongs to, only once: a second response finds nothing. A browser may have several in
 * progress, one per tab, told apart by `state`.
 * @param tokens from the browser's cookie
 * @returns undefined as `flow` if none matches; `open` then tells whether the browser has others in progress
 */
export async function takeOauthFlow(
  tx: Tx,
  provider: string,
  tokens: readonly string[],
  state: string,
): Promise<{ flow: (OauthFlow & { token_hash: string }) | undefined; open: boolean }> {
  if (tokens.length === 0) return { flow: undefined, open: false };
  const mine = and(
    inArray(
      oauth_flows.token_hash,
      tokens.map((token) => sha256Hex(token)),
    ),
    eq(oauth_flows.provider, provider),
    gt(oauth_flows.expires_at, sql`now()`),
  );
  const [flow] = await tx
    .delete(oauth_flows)
    .where(and(mine, eq(oauth_flows.state, state)))
    .returning();
  return { flow, open: flow !== undefined || (await tx.$count(oauth_flows, mine)) > 0 };
}

/** Retention: sign-ins that were never completed. */
export async function deleteExpiredOauthFlows(tx: Tx): Promise<void> {
  await tx.delete(oauth_flows).where(lt(oauth_flows.expires_at, sql`now()`));
}

import { schema, type Tx } from '@acp/db';
import { newToken, sha256Hex } from '@acp/kernel';
import { and, eq, gt, inArray, lt, sql } from 'drizzle-orm';

const { oauth_flows } = schema;

/** Minutes that a user has at the provider. */
export const OAUTH_FLOW_MINUTES = 10;

/** What the provider's answer is held against. */
export interface OauthFlow {
  provider: string;
  state: string;
  nonce: string;
  code_verifier: string;
  /** The invite that the sign-in shall accept. */
  invite_token: string | null;
  /** Where the browser goes afterwards, a path of ours; null: to the start. */
  next_path: string | null;
}

/** Remembers a sign-in under way; the token is for the browser's cookie, which binds the answer to that browser. */
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
 * The sign-in that the answer belongs to, once: the second answer to it finds nothing. Several may be under way in one
 * browser, a tab each; `state` says which.
 * @param tokens of the browser's cookie
 * @returns undefined for `flow` where none fits; `open` then says whether others of the browser are under way
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

/** Retention: sign-ins that nobody came back from. */
export async function deleteExpiredOauthFlows(tx: Tx): Promise<void> {
  await tx.delete(oauth_flows).where(lt(oauth_flows.expires_at, sql`now()`));
}

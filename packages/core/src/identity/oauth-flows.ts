import { schema, type Tx } from '@acp/db';
import { newToken, sha256Hex } from '@acp/kernel';
import { and, eq, gt, lt, sql } from 'drizzle-orm';

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
}

/** Remembers a sign-in under way; the token is for the browser's cookie, which binds the answer to that browser. */
export async function openOauthFlow(tx: Tx, flow: OauthFlow): Promise<{ token: string }> {
  const token = newToken();
  const { provider, state, nonce, code_verifier, invite_token } = flow;
  await tx.insert(oauth_flows).values({
    token_hash: sha256Hex(token),
    provider,
    state,
    nonce,
    code_verifier,
    invite_token,
    expires_at: sql`now() + make_interval(mins => ${OAUTH_FLOW_MINUTES})`,
  });
  return { token };
}

/** Once: the second answer to one sign-in finds nothing. */
export async function takeOauthFlow(tx: Tx, provider: string, token: string): Promise<OauthFlow | undefined> {
  const [flow] = await tx
    .delete(oauth_flows)
    .where(
      and(
        eq(oauth_flows.token_hash, sha256Hex(token)),
        eq(oauth_flows.provider, provider),
        gt(oauth_flows.expires_at, sql`now()`),
      ),
    )
    .returning();
  return flow;
}

/** Retention: sign-ins that nobody came back from. */
export async function deleteExpiredOauthFlows(tx: Tx): Promise<void> {
  await tx.delete(oauth_flows).where(lt(oauth_flows.expires_at, sql`now()`));
}

/** What every sign-in provider is to the rest: a way there, and an identity on the way back. No database here. */
import type { OauthFlow, ProviderIdentity } from '@acp/core';

export type ProviderName = ProviderIdentity['provider'];

/** What the provider's answer is held against. */
export type Expected = Pick<OauthFlow, 'state' | 'nonce' | 'code_verifier'>;

/** As the provider gave them; they are stored sealed, or not at all. */
export interface ProviderTokens {
  access_token: string;
  refresh_token: string | null;
  scope: string | null;
  expires_in_sec: number | null;
}

export interface SignInProvider {
  readonly name: ProviderName;
  readonly label: string;
  /** Where to send the browser. @throws unavailable when the provider can't be reached */
  begin(expected: Expected): Promise<URL>;
  /**
   * Who came back.
   * @param query of the request to the callback
   * @throws unauthenticated for an answer that is none of ours, forbidden for a refusal, unavailable
   */
  complete(
    query: string,
    expected: Expected,
  ): Promise<{ identity: ProviderIdentity; tokens: ProviderTokens }>;
}

/** Seconds that one request to a provider may take: a browser waits for it. */
export const PROVIDER_TIMEOUT_SEC = 10;

export const callbackUrl = (public_url: string, name: ProviderName) => `${public_url}/auth/${name}/callback`;

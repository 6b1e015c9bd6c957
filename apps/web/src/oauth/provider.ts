/** The interface of sign-in providers: a redirect there, and an identity on the way back. No database here. */
import type { OauthFlow, ProviderIdentity } from '@acp/core';

export type ProviderName = ProviderIdentity['provider'];

/** Values that the provider's answer is checked against. */
export type Expected = Pick<OauthFlow, 'state' | 'nonce' | 'code_verifier'>;

/** As issued by the provider; stored sealed, or not at all. */
export interface ProviderTokens {
  access_token: string;
  refresh_token: string | null;
  scope: string | null;
  expires_in_sec: number | null;
}

export interface SignInProvider {
  readonly name: ProviderName;
  readonly label: string;
  /** URL to send the browser to. @throws unavailable if the provider can't be reached */
  begin(expected: Expected): Promise<URL>;
  /**
   * The identity of the user who returned.
   * @param query query of the callback request
   * @throws unauthenticated for an answer that does not match, forbidden for a refusal, unavailable
   */
  complete(
    query: string,
    expected: Expected,
  ): Promise<{ identity: ProviderIdentity; tokens: ProviderTokens }>;
}

/** Timeout of one request to a provider, in seconds: a browser waits for it. */
export const PROVIDER_TIMEOUT_SEC = 10;

export const callbackUrl = (public_url: string, name: ProviderName) => `${public_url}/auth/${name}/callback`;

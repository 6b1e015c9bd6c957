import {
  allowInsecureRequests,
  type Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  type IDToken,
  type UserInfoResponse,
} from 'openid-client';
import {
  atProvider,
  authorizationUrl,
  away,
  clientAuth,
  exchangeCode,
  keptTokens,
  type Tokens,
  withCause,
} from './client.ts';
import { providerFetch } from './provider-fetch.ts';
import { type Expected, PROVIDER_TIMEOUT_SEC, type ProviderName, type SignInProvider } from './provider.ts';

export interface OidcOptions {
  name: ProviderName;
  label: string;
  issuer: string;
  client_id: string;
  client_secret: string;
  scope: string;
  redirect_uri: string;
}

// A provider's endpoints and algorithms rarely change; the library takes care of its keys.
const DISCOVERY_KEPT_MS = 3_600_000;

/** Any OpenID Connect provider, such as Google: its properties are read from its discovery document. */
export class OidcProvider implements SignInProvider {
  readonly name: ProviderName;
  readonly label: string;
  readonly #options: OidcOptions;
  #client: { found: Promise<Configuration>; at: number } | undefined;

  constructor(options: OidcOptions) {
    this.#options = options;
    this.name = options.name;
    this.label = options.label;
  }

  async begin(expected: Expected): Promise<URL> {
    const { redirect_uri, scope } = this.#options;
    return atProvider(this.label, async () =>
      authorizationUrl(await this.#discovered(), { redirect_uri, scope, nonce: expected.nonce }, expected),
    );
  }

  async complete(query: string, expected: Expected): ReturnType<SignInProvider['complete']> {
    return atProvider(this.label, async () => {
      const client = await this.#discovered();
      const tokens = await exchangeCode(client, `${this.#options.redirect_uri}?${query}`, expected);
      const { sub, iss, ...claims } = idToken(tokens);
      const profile = typeof claims.email === 'string' ? claims : await userInfo(client, tokens, sub);
      const identity = { provider: this.name, issuer: iss, subject: sub, ...profileOf(profile) };
      return { identity, tokens: keptTokens(tokens) };
    });
  }

  /** Failures are not cached: the next sign-in tries again. */
  async #discovered(): Promise<Configuration> {
    const now = performance.now();
    if (!this.#client || now - this.#client.at > DISCOVERY_KEPT_MS) {
      this.#client = { found: this.#discover(), at: now };
    }
    const { found } = this.#client;
    try {
      return await found;
    } catch (error) {
      if (this.#client?.found === found) this.#client = undefined;
      // Whatever is wrong with the document: no one can sign in there now, and the operator's log shows why.
      throw withCause(away(this.label), error);
    }
  }

  /** ID tokens must have a valid signature, so that a proxy between here and the provider can't forge them. */
  async #discover(): Promise<Configuration> {
    const { issuer, client_id, client_secret } = this.#options;
    // The configuration permits http on loopback only.
    const execute = [
      enableNonRepudiationChecks,
      ...(issuer.startsWith('http:') ? [allowInsecureRequests] : []),
    ];
    return discovery(new URL(issuer), client_id, client_secret, clientAuth(client_secret), {
      execute,
      timeout: PROVIDER_TIMEOUT_SEC,
      [customFetch]: providerFetch(client_secret),
    });
  }
}

function idToken(tokens: Tokens): IDToken {
  const claims = tokens.claims();
  if (!claims) throw new Error('the grant was made without an ID token');
  return claims;
}

/** Some providers leave the address out of the ID token. */
async function userInfo(
  client: Configuration,
  tokens: Tokens,
  subject: string,
): Promise<Partial<UserInfoResponse>> {
  if (client.serverMetadata().userinfo_endpoint === undefined) return {};
  return fetchUserInfo(client, tokens.access_token, subject);
}

function profileOf({ email, email_verified, name }: Record<string, unknown>) {
  return {
    email: typeof email === 'string' && email !== '' ? email : null,
    // Some providers send booleans as text. Absent means not verified.
    email_verified: email_verified === true || email_verified === 'true',
    display_name: typeof name === 'string' && name.trim() !== '' ? name : null,
  };
}

import { said, unavailable } from '@acp/kernel';
import { allowInsecureRequests, Configuration, customFetch, fetchProtectedResource } from 'openid-client';
import { createValidator, GithubEmails, GithubUser } from '@acp/contract';
import { atProvider, authorizationUrl, exchangeCode, keptTokens } from './client.ts';
import { providerFetch } from './provider-fetch.ts';
import { type Expected, PROVIDER_TIMEOUT_SEC, type SignInProvider } from './provider.ts';

interface GithubOptions {
  /** `https://github.com` or an enterprise server; `api_url` is its API. */
  url: string;
  api_url: string;
  client_id: string;
  client_secret: string;
  redirect_uri: string;
}

const SCOPE = 'read:user user:email';
const readUser = createValidator(GithubUser, 'the user');
const readEmails = createValidator(GithubEmails, 'the addresses');

/** GitHub speaks OAuth 2.0 without OpenID Connect: the identity is read from its API. */
export class GithubProvider implements SignInProvider {
  readonly name = 'github';
  readonly label = 'GitHub';
  readonly #options: GithubOptions;
  readonly #client: Configuration;

  constructor(options: GithubOptions) {
    this.#options = options;
    const base = `${withoutSlash(options.url)}/login/oauth`;
    const server = {
      issuer: base,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/access_token`,
    };
    this.#client = new Configuration(server, options.client_id, options.client_secret);
    this.#client.timeout = PROVIDER_TIMEOUT_SEC;
    this.#client[customFetch] = providerFetch(options.client_secret);
    // The configuration permits http on loopback only.
    if (options.url.startsWith('http:') || options.api_url.startsWith('http:'))
      allowInsecureRequests(this.#client);
  }

  async begin(expected: Expected): Promise<URL> {
    const { redirect_uri } = this.#options;
    return authorizationUrl(this.#client, { redirect_uri, scope: SCOPE }, expected);
  }

  async complete(query: string, { state, code_verifier }: Expected): ReturnType<SignInProvider['complete']> {
    return atProvider(this.label, async () => {
      const callback = `${this.#options.redirect_uri}?${query}`;
      const tokens = await exchangeCode(this.#client, callback, { state, code_verifier });
      const user = readUser(await this.#read('/user', tokens.access_token));
      const emails = readEmails(await this.#read('/user/emails', tokens.access_token));
      // The profile's public address proves nothing; the primary one does, once it is verified.
      const primary = emails.find((each) => each.primary);
      const identity = {
        provider: this.name,
        issuer: withoutSlash(this.#options.url),
        subject: String(user.id),
        email: primary?.email ?? null,
        email_verified: primary?.verified === true,
        display_name: user.name?.trim() || user.login,
      } as const;
      return { identity, tokens: keptTokens(tokens) };
    });
  }

  async #read(path: string, token: string): Promise<unknown> {
    const url = new URL(`${withoutSlash(this.#options.api_url)}${path}`);
    const headers = new Headers({ accept: 'application/vnd.github+json' });
    const response = await fetchProtectedResource(this.#client, token, url, 'GET', null, headers);
    if (!response.ok) throw unavailable(said`GitHub answered ${response.status} for the account`);
    return response.json();
  }
}

const withoutSlash = (url: string) => url.replace(/\/+$/, '');

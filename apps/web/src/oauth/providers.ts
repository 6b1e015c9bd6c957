import type { Config } from '@acp/kernel';
import type { OidcOptions } from './oidc.ts';
import { callbackUrl, type Expected, type ProviderName, type SignInProvider } from './provider.ts';

/** The configured providers, by their name in paths, in the order of the login page. */
export function createProviders(config: Config): ReadonlyMap<string, SignInProvider> {
  const providers = [google(config), github(config), oidc(config)].filter((each) => each !== null);
  return new Map(providers.map((each) => [each.name, each]));
}

function google(config: Config): SignInProvider | null {
  const { google_client_id: client_id, google_client_secret: client_secret, google_issuer: issuer } = config;
  if (client_id === null || client_secret === null) return null;
  return openId(config, {
    name: 'google',
    label: 'Google',
    issuer,
    client_id,
    client_secret,
    scope: 'openid email profile',
  });
}

function oidc(config: Config): SignInProvider | null {
  const { oidc_client_id: client_id, oidc_client_secret: client_secret, oidc_issuer: issuer } = config;
  if (client_id === null || client_secret === null || issuer === null) return null;
  const { oidc_label: label, oidc_scopes: scope } = config;
  return openId(config, { name: 'oidc', label, issuer, client_id, client_secret, scope });
}

function github(config: Config): SignInProvider | null {
  const { github_client_id: client_id, github_client_secret: client_secret } = config;
  if (client_id === null || client_secret === null) return null;
  const { github_url: url, github_api_url: api_url } = config;
  const redirect_uri = callbackUrl(config.public_url, 'github');
  return new LateProvider('github', 'GitHub', async () => {
    const { GithubProvider } = await import('./github.ts');
    return new GithubProvider({ url, api_url, client_id, client_secret, redirect_uri });
  });
}

function openId({ public_url }: Config, options: Omit<OidcOptions, 'redirect_uri'>): SignInProvider {
  const redirect_uri = callbackUrl(public_url, options.name);
  return new LateProvider(options.name, options.label, async () => {
    const { OidcProvider } = await import('./oidc.ts');
    return new OidcProvider({ ...options, redirect_uri });
  });
}

/** Loads the client library with the first sign-in: most sign-ins are by password, and most processes see none for long. */
class LateProvider implements SignInProvider {
  readonly name: ProviderName;
  readonly label: string;
  readonly #load: () => Promise<SignInProvider>;
  #loaded: Promise<SignInProvider> | undefined;

  constructor(name: ProviderName, label: string, load: () => Promise<SignInProvider>) {
    this.name = name;
    this.label = label;
    this.#load = load;
  }

  async begin(expected: Expected): Promise<URL> {
    return (await this.#provider()).begin(expected);
  }

  async complete(query: string, expected: Expected): ReturnType<SignInProvider['complete']> {
    return (await this.#provider()).complete(query, expected);
  }

  async #provider(): Promise<SignInProvider> {
    return (this.#loaded ??= this.#load());
  }
}

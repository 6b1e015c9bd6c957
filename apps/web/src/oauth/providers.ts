import type { Config } from '@acp/kernel';
import { GithubProvider } from './github.ts';
import { OidcProvider } from './oidc.ts';
import { callbackUrl, type ProviderName, type SignInProvider } from './provider.ts';

/** The configured providers, by their name in paths, in the order of the login page. */
export function createProviders(config: Config): ReadonlyMap<string, SignInProvider> {
  const providers = [google(config), github(config), oidc(config)].filter((each) => each !== null);
  return new Map(providers.map((each) => [each.name, each]));
}

function google(config: Config): SignInProvider | null {
  const { google_client_id: client_id, google_client_secret: client_secret, google_issuer: issuer } = config;
  if (client_id === null || client_secret === null) return null;
  const scope = 'openid email profile';
  return new OidcProvider({
    ...place(config, 'google'),
    label: 'Google',
    issuer,
    client_id,
    client_secret,
    scope,
  });
}

function oidc(config: Config): SignInProvider | null {
  const { oidc_client_id: client_id, oidc_client_secret: client_secret, oidc_issuer: issuer } = config;
  if (client_id === null || client_secret === null || issuer === null) return null;
  const { oidc_label: label, oidc_scopes: scope } = config;
  return new OidcProvider({ ...place(config, 'oidc'), label, issuer, client_id, client_secret, scope });
}

function github(config: Config): SignInProvider | null {
  const { github_client_id: client_id, github_client_secret: client_secret } = config;
  if (client_id === null || client_secret === null) return null;
  const { github_url: url, github_api_url: api_url } = config;
  return new GithubProvider({ ...place(config, 'github'), url, api_url, client_id, client_secret });
}

const place = ({ public_url }: Config, name: ProviderName) => ({
  name,
  redirect_uri: callbackUrl(public_url, name),
});

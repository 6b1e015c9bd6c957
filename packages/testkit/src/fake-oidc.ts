// A real OpenID Connect provider (oidc-provider) on loopback whose users are signed in immediately: the browser's
// requests carry the account, in place of a password.

import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Configuration, default as Provider } from 'oidc-provider';
import { memoryAdapter, signingKeys } from './oidc-memory.ts';

export interface OidcAccount {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
}

export interface FakeOidcOptions {
  client_id: string;
  client_secret: string;
  redirect_uris: string[];
  /** The ID token contains all claims, as Google's does; otherwise the address must be fetched from the userinfo endpoint. */
  claims_in_id_token?: boolean;
  /** The only client authentication method accepted. */
  auth_method?: 'client_secret_post' | 'client_secret_basic';
  /** Rewrites the ID token in transit, as a man in the middle would. */
  mangle?: (id_token: string) => string;
}

export interface FakeOidc {
  issuer: string;
  /** Number of requests to the token endpoint so far. */
  exchanges(): number;
  close(): Promise<void>;
}

const ACCOUNT_HEADER = 'x-test-account';

export async function startFakeOidc(options: FakeOidcOptions): Promise<FakeOidc> {
  // Loaded here and not at the top: every test file imports the kit.
  const { default: OidcProvider } = await import('oidc-provider');
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accounts = new Map<string, OidcAccount>();
  const provider = new OidcProvider(issuer, configuration(options, accounts));
  let exchanges = 0;
  const handle = provider.callback();
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/token')) {
      exchanges += 1;
      if (options.mangle) mangleAnswer(response, options.mangle);
    }
    if (!request.url?.startsWith('/interaction/')) return void handle(request, response);
    const account = JSON.parse(decodeURIComponent(String(request.headers[ACCOUNT_HEADER]))) as OidcAccount;
    accounts.set(account.sub, account);
    void consent(provider, options.client_id, account.sub).then((consented) =>
      provider.interactionFinished(request, response, {
        login: { accountId: account.sub },
        consent: { grantId: consented },
      }),
    );
  });
  return { issuer, exchanges: () => exchanges, close: async () => close(server) };
}

/** Walks a browser through the provider and returns the URL it is redirected to, the service's callback. */
export async function signInAt(authorize: string, account: OidcAccount): Promise<string> {
  const { origin } = new URL(authorize);
  const cookies = new Map<string, string>();
  let url = authorize;
  while (new URL(url).origin === origin) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { cookie, [ACCOUNT_HEADER]: encodeURIComponent(JSON.stringify(account)) };
    const response = await fetch(url, { redirect: 'manual', headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    const location = response.headers.get('location');
    if (location === null)
      throw new Error(`the provider answered ${response.status}: ${await response.text()}`);
    url = new URL(location, url).href;
  }
  return url;
}

function configuration(options: FakeOidcOptions, accounts: ReadonlyMap<string, OidcAccount>): Configuration {
  const {
    client_id,
    client_secret,
    redirect_uris,
    claims_in_id_token = true,
    auth_method = 'client_secret_post',
  } = options;
  return {
    adapter: memoryAdapter(),
    jwks: signingKeys(),
    clients: [{ client_id, client_secret, redirect_uris, token_endpoint_auth_method: auth_method }],
    clientAuthMethods: [auth_method],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: !claims_in_id_token,
    cookies: { keys: ['test'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ ...accounts.get(sub), sub }),
    }),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      Grant: 600,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
    },
    pkce: { required: () => true },
  };
}

function mangleAnswer(response: ServerResponse, mangle: (id_token: string) => string): void {
  const end = response.end.bind(response) as (text: string) => ServerResponse;
  response.end = ((text: string | Buffer) => {
    const body = JSON.parse(String(text)) as { id_token?: string };
    const sent = JSON.stringify({ ...body, ...(body.id_token && { id_token: mangle(body.id_token) }) });
    response.removeHeader('content-length');
    return end(sent);
  }) as typeof response.end;
}

async function consent(provider: Provider, clientId: string, accountId: string): Promise<string> {
  const grant = new provider.Grant({ accountId, clientId });
  grant.addOIDCScope('openid email profile');
  return grant.save();
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

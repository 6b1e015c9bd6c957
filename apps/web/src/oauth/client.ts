/** The certified client library, set up alike for all providers: PKCE, state, nonce, and errors in our own words. */
import { forbidden, said, ServiceError, unauthenticated, unavailable } from '@acp/kernel';
import {
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  type ClientAuth,
  ClientError,
  ClientSecretBasic,
  ClientSecretJwt,
  ClientSecretPost,
  type Configuration,
  ResponseBodyError,
} from 'openid-client';
import type { Expected, ProviderTokens } from './provider.ts';

export type Tokens = Awaited<ReturnType<typeof authorizationCodeGrant>>;

interface AuthorizationRequest {
  redirect_uri: string;
  scope: string;
  /** For OpenID Connect only. */
  nonce?: string;
}

/**
 * Sends the client's secret by a method that the provider supports; one that declares none supports Basic (OpenID Connect
 * Discovery 1.0, section 3).
 */
export function clientAuth(secret: string): ClientAuth {
  const methods: Record<string, ClientAuth> = {
    client_secret_post: ClientSecretPost(secret),
    client_secret_basic: ClientSecretBasic(secret),
    client_secret_jwt: ClientSecretJwt(secret),
  };
  return (server, client, body, headers) => {
    const known = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const method = Object.keys(methods).find((name) => known.includes(name)) ?? 'client_secret_basic';
    return methods[method]!(server, client, body, headers);
  };
}

export async function authorizationUrl(
  client: Configuration,
  request: AuthorizationRequest,
  { state, code_verifier }: Expected,
): Promise<URL> {
  return buildAuthorizationUrl(client, {
    ...request,
    state,
    code_challenge: await calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: 'S256',
  });
}

/** Exchanges the code. `nonce` is checked against the ID token, which is then required. */
export async function exchangeCode(
  client: Configuration,
  callback: string,
  { state, code_verifier, nonce }: Omit<Expected, 'nonce'> & { nonce?: string },
): Promise<Tokens> {
  return authorizationCodeGrant(client, new URL(callback), {
    expectedState: state,
    pkceCodeVerifier: code_verifier,
    ...(nonce === undefined ? {} : { expectedNonce: nonce, idTokenExpected: true }),
  });
}

export function keptTokens(tokens: Tokens): ProviderTokens {
  return {
    access_token: tokens.access_token,
    refresh_token: tokens.refresh_token ?? null,
    scope: tokens.scope ?? null,
    expires_in_sec: tokens.expires_in ?? null,
  };
}

// The library's codes for a provider that is unreachable or not a provider at all, as opposed to an invalid answer.
const AWAY = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);

/** Runs a step at the provider; turns failures into errors that a page can show, with the library's error as the cause. */
export async function atProvider<T>(label: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw withCause(requestFailure(label, error), error);
  }
}

/** Of an error's code that is shown, in characters. */
const LONGEST_CODE = 200;

function requestFailure(label: string, error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof AuthorizationResponseError) {
    return forbidden(
      error.error === 'access_denied'
        ? said`${label} did not sign you in`
        : said`${label} did not sign you in: ${error.error.slice(0, LONGEST_CODE)}`,
    );
  }
  if (error instanceof ResponseBodyError)
    return unauthenticated(said`${label} refused the sign-in: ${error.error.slice(0, LONGEST_CODE)}`);
  if (error instanceof ClientError && error.code !== undefined && !AWAY.has(error.code)) {
    return unauthenticated(said`the answer of ${label} could not be verified`);
  }
  return away(label);
}

export const away = (label: string) => unavailable(said`${label} cannot be reached`);

export function withCause(error: ServiceError, cause: unknown): ServiceError {
  error.cause ??= cause;
  return error;
}

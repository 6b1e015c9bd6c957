import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { hostileAnswers, type HostileServer, startHostileServer } from '@acp/testkit';
import { GithubProvider } from './github.ts';
import { OidcProvider } from './oidc.ts';
import type { SignInProvider } from './provider.ts';

const client = {
  client_id: 'the-service',
  client_secret: 'the-secret-of-the-client',
  redirect_uri: 'http://localhost/cb',
};
const expected = { state: 'a-state', nonce: 'a-nonce', code_verifier: 'v'.repeat(43) };
const callback = `code=a-code&state=${expected.state}`;

let server: HostileServer;
beforeAll(async () => {
  server = await startHostileServer();
});
beforeEach(() => {
  server.asked.length = 0;
});
afterAll(() => server.close());

const oidc = () =>
  new OidcProvider({ ...client, name: 'oidc', label: 'Example Corp', issuer: server.url, scope: 'openid' });
const github = () => new GithubProvider({ ...client, url: server.url, api_url: server.url });
const documents = () => ({
  issuer: server.url,
  authorization_endpoint: `${server.url}/authorize`,
  token_endpoint: `${server.url}/token`,
  jwks_uri: `${server.url}/keys`,
  token_endpoint_auth_methods_supported: ['client_secret_post'],
});

const failureOf = async (provider: SignInProvider): Promise<Error & { kind?: string }> =>
  provider.complete(callback, expected).then(
    () => new Error('it was believed'),
    (error: Error) => error,
  );

describe.each(Object.entries(hostileAnswers))('a provider that answers %s', (_what, answer) => {
  it('to what it is signs nobody in', async () => {
    server.answer(answer);
    expect(await failureOf(oidc())).toMatchObject({ kind: 'unavailable' });
  });

  it('to the code signs nobody in', async () => {
    server.answer((response, request) => {
      if (!request.url?.startsWith('/.well-known/')) return answer(response, request);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(documents()));
    });
    for (const provider of [oidc(), github()])
      expect((await failureOf(provider)).kind).toMatch(/^(unavailable|unauthenticated)$/);
  });
});

describe('a provider that repeats the secret of the client', () => {
  it.each(['oidc', 'github'])('does not tell it to the browser: %s', async (name) => {
    server.answer((response, request) => {
      const isDocument = request.url?.startsWith('/.well-known/') === true;
      const said = isDocument ? documents() : { error: `no ${client.client_secret}: ${'x'.repeat(900)}` };
      response
        .writeHead(isDocument ? 200 : 400, { 'content-type': 'application/json' })
        .end(JSON.stringify(said));
    });
    const { message } = await failureOf(name === 'oidc' ? oidc() : github());
    expect(message).toContain('no [redacted]');
    expect(message.length).toBeLessThan(300);
    expect(JSON.stringify(server.asked)).toContain(client.client_secret);
  });
});

it('a provider that names the metadata of the cloud as its place for codes has nothing asked there', async () => {
  const token_endpoint = 'http://169.254.169.254/token';
  server.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...documents(), token_endpoint }));
  });
  expect(await failureOf(oidc())).toMatchObject({ kind: 'unavailable' });
});

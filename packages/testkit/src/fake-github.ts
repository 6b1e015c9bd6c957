// GitHub as far as sign-in sees it: authorization by code and PKCE, the account and its email addresses. `setAccount`
// chooses who signs in, in place of a password.

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface GithubAccount {
  id: number;
  login: string;
  name?: string | null;
  emails: { email: string; primary: boolean; verified: boolean }[];
}

export interface FakeGithub {
  /** Serves as `SERVICE_GITHUB_URL` and, with `/api/v3`, as `SERVICE_GITHUB_API_URL`. */
  url: string;
  setAccount(account: GithubAccount): void;
  close(): Promise<void>;
}

interface Grant {
  challenge: string;
  redirect_uri: string;
  account: GithubAccount;
}

export async function startFakeGithub(client: {
  client_id: string;
  client_secret: string;
}): Promise<FakeGithub> {
  const codes = new Map<string, Grant>();
  const tokens = new Map<string, GithubAccount>();
  let account: GithubAccount = { id: 1, login: 'nobody', emails: [] };

  function authorize(url: URL, response: ServerResponse): void {
    const asked = url.searchParams;
    const back = new URL(asked.get('redirect_uri') ?? '');
    back.searchParams.set('state', asked.get('state') ?? '');
    if (asked.get('client_id') !== client.client_id) {
      back.searchParams.set('error', 'unauthorized_client');
    } else {
      const code = randomBytes(10).toString('hex');
      back.searchParams.set('code', code);
      const challenge = asked.get('code_challenge') ?? '';
      codes.set(code, { challenge, redirect_uri: asked.get('redirect_uri') ?? '', account });
    }
    response.writeHead(302, { location: back.href }).end();
  }

  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await bodyOf(request));
    const grant = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const right =
      form.get('client_secret') === client.client_secret &&
      grant?.challenge === challenge &&
      grant.redirect_uri === form.get('redirect_uri');
    // GitHub reports errors with status 200.
    if (!grant || !right) return json(response, 200, { error: 'bad_verification_code' });
    const access_token = `gho_${randomBytes(10).toString('hex')}`;
    tokens.set(access_token, grant.account);
    json(response, 200, { access_token, token_type: 'bearer', scope: 'read:user,user:email' });
  }

  function read(path: string, request: IncomingMessage, response: ServerResponse): void {
    const known = tokens.get(/^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '');
    if (!known) return json(response, 401, { message: 'Bad credentials' });
    const { emails, ...user } = known;
    json(response, 200, path.endsWith('/emails') ? emails : user);
  }

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://github.test');
    if (url.pathname === '/login/oauth/authorize') authorize(url, response);
    else if (url.pathname === '/login/oauth/access_token') void exchange(request, response);
    else if (/^\/api\/v3\/user(\/emails)?$/.test(url.pathname)) read(url.pathname, request, response);
    else json(response, 404, { message: 'Not Found' });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setAccount: (next) => {
      account = next;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Sign-in through a real OpenID Connect provider and through GitHub's protocol, over loopback and through the pages. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createCompany, createInvite, createUser, systemActor, updateUser } from '@acp/core';
import { schema, transaction } from '@acp/db';
import { newId, Vault } from '@acp/kernel';
import type { FakeGithub, FakeOidc, FakeOidcOptions, OidcAccount } from '@acp/testkit';
import { signInAt, startFakeGithub, startFakeOidc } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { createHmac } from 'node:crypto';
import { Browser, type Pages, PUBLIC_URL, startPages } from './pages.ts';

const client = { client_id: 'the-service', client_secret: 'a secret of the client, long enough' };
const key = Buffer.alloc(32, 9);
const director = systemActor('tests');
const { oauth_accounts, sessions, users } = schema;

let oidc: FakeOidc;
let google: FakeOidc;
let github: FakeGithub;
let env: Record<string, string>;
let pages: Pages;

const redirects = (name: string) => ({ redirect_uris: [`${PUBLIC_URL}/auth/${name}/callback`] });

beforeAll(async () => {
  oidc = await startFakeOidc({ ...client, ...redirects('oidc'), claims_in_id_token: false });
  google = await startFakeOidc({ ...client, ...redirects('google') });
  github = await startFakeGithub(client);
  env = {
    SERVICE_OIDC_ISSUER: oidc.issuer,
    SERVICE_OIDC_CLIENT_ID: client.client_id,
    SERVICE_OIDC_CLIENT_SECRET: client.client_secret,
    SERVICE_OIDC_LABEL: 'Example Corp',
    SERVICE_GOOGLE_CLIENT_ID: client.client_id,
    SERVICE_GOOGLE_CLIENT_SECRET: client.client_secret,
    SERVICE_GOOGLE_ISSUER: google.issuer,
    SERVICE_GITHUB_CLIENT_ID: client.client_id,
    SERVICE_GITHUB_CLIENT_SECRET: client.client_secret,
    SERVICE_GITHUB_URL: github.url,
    SERVICE_GITHUB_API_URL: `${github.url}/api/v3`,
    SERVICE_ENCRYPTION_KEY: key.toString('hex'),
  };
  pages = await startPages(env);
});

afterAll(async () => Promise.all([oidc.close(), google.close(), github.close()]));

const freshEmail = () => `${newId()}@example.com`;

async function user(values: { email: string; email_verified?: boolean; password_hash?: string }) {
  const base = { display_name: 'Known', password_hash: null, instance_role: 'member' } as const;
  return transaction(pages.database, (tx) => createUser(tx, { ...base, ...values }));
}

async function invite(role: 'member' | 'viewer' = 'viewer') {
  return transaction(pages.database, async (tx) => {
    const company = await createCompany(tx, director, { name: 'Inviting', slug: `i-${newId()}` });
    const { token } = await createInvite(tx, director, company.id, { role });
    return { company_id: company.id, token: token! };
  });
}

/** Takes a browser through start, provider and callback. `mangle` modifies the callback's URL on the way. */
async function signIn(
  name: 'oidc' | 'google',
  account: OidcAccount,
  { browser = new Browser(pages.app), query = '', mangle = (url: URL) => url } = {},
) {
  const start = await browser.get(`/auth/${name}${query}`);
  expect(start.status).toBe(303);
  const back = mangle(new URL(await signInAt(start.headers.location!, account)));
  const answer = await browser.get(`${back.pathname}${back.search}`);
  return { browser, answer, start, back };
}

/** Creates a known, verified user. */
async function knownAccount() {
  const { email } = await user({ email: freshEmail() });
  return { sub: newId(), email, email_verified: true };
}

/** Replaces a value in the callback's URL. */
const changing = (name: string, value: string) => (url: URL) => {
  url.searchParams.set(name, value);
  return url;
};

async function byGithub(browser = new Browser(pages.app), query = '') {
  const start = await browser.get(`/auth/github${query}`);
  const there = await fetch(start.headers.location!, { redirect: 'manual' });
  const back = new URL(there.headers.get('location')!);
  return { browser, answer: await browser.get(`${back.pathname}${back.search}`) };
}

const me = async (browser: Browser) => (await browser.api('get', '/api/me')).body;

describe('a provider that is not configured', () => {
  it.each(['google', 'github', 'oidc', 'other'])('%s: 404, start and callback', async (name) => {
    const bare = await startPages();
    for (const path of [`/auth/${name}`, `/auth/${name}/callback?code=x&state=y`]) {
      const { status, body } = await new Browser(bare.app).get(path);
      expect({ status, body }).toEqual({ status: 404, body: { error: 'not found' } });
    }
    expect((await new Browser(bare.app).get('/login')).text).not.toContain('/auth/');
  });
});

describe('sign-in by OpenID Connect', () => {
  it('the login page offers what is configured', async () => {
    const { text } = await new Browser(pages.app).get('/login');
    for (const label of ['Google', 'GitHub', 'Example Corp'])
      expect(text).toContain(`Continue with ${label}`);
  });

  it('the browser goes there with PKCE, state and nonce, bound by a short-lived cookie', async () => {
    const browser = new Browser(pages.app);
    const { headers } = await browser.get('/auth/oidc');
    const url = new URL(headers.location!);
    expect(url.origin).toBe(oidc.issuer);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: client.client_id,
      response_type: 'code',
      redirect_uri: `${PUBLIC_URL}/auth/oidc/callback`,
      scope: 'openid email profile',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(browser.lastSetCookie).toHaveLength(1);
    expect(browser.lastSetCookie[0]).toMatch(/^service_oauth=.*Max-Age=600;.*HttpOnly; SameSite=Lax/);
  });

  it.each(['oidc', 'google'] as const)(
    'a known user comes by a verified address of %s: signed in and linked, tokens sealed',
    async (name) => {
      const { id, email } = await user({ email: freshEmail() });
      const account = { sub: newId(), email: email.toUpperCase(), email_verified: true };
      const { answer, browser } = await signIn(name, account);
      expect(answer.status).toBe(303);
      expect(answer.headers.location).toBe('/companies');
      expect(await me(browser)).toMatchObject({ id, last_login_at: expect.any(String) });
      expect(browser.cookies.has('service_oauth')).toBe(false);

      const [linked] = await pages.database.db
        .select()
        .from(oauth_accounts)
        .where(eq(oauth_accounts.user_id, id));
      expect(linked).toMatchObject({ provider: name, subject: account.sub });
      const vault = new Vault(key);
      const tokens: unknown = JSON.parse(
        vault.unseal(linked!.tokens_sealed!, `oauth_accounts/${linked!.id}`),
      );
      expect(tokens).toMatchObject({ access_token: expect.any(String) });
    },
  );

  it('a linked user comes back with another, unverified address: the subject decides', async () => {
    const { id, email } = await user({ email: freshEmail() });
    const sub = newId();
    await signIn('oidc', { sub, email, email_verified: true });
    const { browser } = await signIn('oidc', { sub, email: freshEmail(), email_verified: false });
    expect(await me(browser)).toMatchObject({ id });
    const rows = await pages.database.db.select().from(oauth_accounts).where(eq(oauth_accounts.user_id, id));
    expect(rows).toHaveLength(1);
  });

  it.each([
    ['not verified', { email_verified: false }],
    ['said nothing of', {}],
  ])('the address of a known user is %s: 403 and no link', async (_what, verified) => {
    const { id, email } = await user({ email: freshEmail() });
    const { answer, browser } = await signIn('google', { sub: newId(), email, ...verified });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('not verified');
    expect(browser.cookies.has('service_session')).toBe(false);
    const rows = await pages.database.db.select().from(oauth_accounts).where(eq(oauth_accounts.user_id, id));
    expect(rows).toEqual([]);
  });

  it('a stranger comes without an invite: 403, and no user is made', async () => {
    const email = freshEmail();
    const { answer } = await signIn('oidc', { sub: newId(), email, email_verified: true });
    expect(answer.status).toBe(403);
    expect(await pages.database.db.select().from(users).where(eq(users.email, email))).toEqual([]);
  });

  it('a deactivated user comes: 403', async () => {
    const { id, email } = await user({ email: freshEmail() });
    const account = { sub: newId(), email, email_verified: true };
    await signIn('oidc', account);
    await transaction(pages.database, (tx) => updateUser(tx, director, id, { is_active: false }));
    const { answer, browser } = await signIn('oidc', account);
    expect(answer.status).toBe(403);
    expect(browser.cookies.has('service_session')).toBe(false);
  });

  it('an account was made by somebody else for an address: its owner takes it over, password and sessions end', async () => {
    const squatted = await user({
      email: freshEmail(),
      email_verified: false,
      password_hash: 'of the squatter',
    });
    const [open] = await pages.database.db
      .insert(sessions)
      .values({ user_id: squatted.id, token_hash: newId(), expires_at: new Date(Date.now() + 60_000) })
      .returning();
    await signIn('google', { sub: newId(), email: squatted.email, email_verified: true });
    const [row] = await pages.database.db.select().from(users).where(eq(users.id, squatted.id));
    expect(row).toMatchObject({ password_hash: null, email_verified_at: expect.any(Date) });
    expect(await pages.database.db.select().from(sessions).where(eq(sessions.id, open!.id))).toEqual([]);
  });

  it('a user takes the address of somebody else, and its owner signs in: the link of the former ends, and stays a stranger’s', async () => {
    const squatter = await knownAccount();
    const { browser } = await signIn('google', squatter);
    const email = freshEmail();
    expect((await browser.api('patch', '/api/me', { email })).status).toBe(200);
    const owner = await signIn('oidc', { sub: newId(), email, email_verified: true });
    expect(await me(owner.browser)).toMatchObject({ email });
    expect((await browser.api('get', '/api/me')).status).toBe(401);
    for (const account of [squatter, { ...squatter, email, email_verified: false }])
      expect((await signIn('google', account)).answer.status).toBe(403);
    expect((await owner.browser.api('get', '/api/me')).status).toBe(200);
  });

  it('an invite is accepted by an address that nobody verified, and its owner comes: the first link ends', async () => {
    const email = freshEmail();
    const first = { sub: newId(), email, email_verified: false };
    const { token } = await invite('member');
    expect((await signIn('oidc', first, { query: `?invite=${token}` })).answer.status).toBe(303);
    expect((await signIn('google', { sub: newId(), email, email_verified: true })).answer.status).toBe(303);
    expect((await signIn('oidc', first)).answer.status).toBe(403);
  });

  it('the Kelvin sign stands for a k in the provider’s address: nobody’s', async () => {
    const { email } = await user({ email: `kiss-${newId()}@example.com` });
    const account = { sub: newId(), email: email.replace('k', '\u212A'), email_verified: true };
    expect((await signIn('oidc', account)).answer.status).toBe(403);
  });

  it('the browser was on its way to a page of ours: it ends there; on its way elsewhere: at the start', async () => {
    const account = await knownAccount();
    const login = await new Browser(pages.app).get('/login?next=%2Fprofile%3Fa%3D1');
    expect(login.text).toContain('href="/auth/oidc?next=%2Fprofile%3Fa%3D1"');
    const { answer } = await signIn('oidc', account, { query: '?next=%2Fprofile%3Fa%3D1' });
    expect(answer.headers.location).toBe('/profile?a=1');
    const away = await signIn('oidc', account, { query: '?next=%2F%2Fevil.example' });
    expect(away.answer.headers.location).toBe('/companies');
  });

  it('two tabs are under way at once: both arrive, each where it was going', async () => {
    const browser = new Browser(pages.app);
    const account = await knownAccount();
    const starts = [
      await browser.get('/auth/oidc?next=%2Fone'),
      await browser.get('/auth/oidc?next=%2Ftwo'),
      await browser.get('/auth/google?next=%2Fthree'),
    ];
    for (const [n, path] of ['/one', '/two', '/three'].entries()) {
      const back = new URL(await signInAt(starts[n]!.headers.location!, account));
      const { headers } = await browser.get(`${back.pathname}${back.search}`);
      expect(headers.location).toBe(path);
    }
    expect(browser.cookies.has('service_oauth')).toBe(false);
  });

  it('the instance has no encryption key: the tokens are not stored', async () => {
    const { SERVICE_ENCRYPTION_KEY: _, ...keyless } = env;
    const bare = await startPages(keyless);
    const { id, email } = await user({ email: freshEmail() });
    const browser = new Browser(bare.app);
    const { answer } = await signIn('oidc', { sub: newId(), email, email_verified: true }, { browser });
    expect(answer.status).toBe(303);
    const [linked] = await pages.database.db
      .select()
      .from(oauth_accounts)
      .where(eq(oauth_accounts.user_id, id));
    expect(linked!.tokens_sealed).toBeNull();
  });
});

describe('an answer that is not the provider’s to this browser', () => {
  it('the state was changed: 401, and the code is not exchanged', async () => {
    const before = oidc.exchanges();
    const mangle = changing('state', 'another');
    const { answer, browser } = await signIn('oidc', await knownAccount(), { mangle });
    expect(answer.status).toBe(401);
    expect(browser.cookies.has('service_session')).toBe(false);
    expect(oidc.exchanges()).toBe(before);
  });

  it('the issuer was changed: 401', async () => {
    const mangle = changing('iss', 'https://evil.example');
    expect((await signIn('oidc', await knownAccount(), { mangle })).answer.status).toBe(401);
  });

  it('the code is none: 401', async () => {
    const mangle = changing('code', 'guessed');
    expect((await signIn('oidc', await knownAccount(), { mangle })).answer.status).toBe(401);
  });

  it('another browser brings it: 400', async () => {
    const { back } = await signIn('oidc', await knownAccount(), {
      mangle: (url) => new URL(url.pathname, url),
    });
    expect((await new Browser(pages.app).get(`${back.pathname}?code=a&state=b`)).status).toBe(400);
  });

  it('comes a second time: 400', async () => {
    const browser = new Browser(pages.app);
    await browser.get('/auth/oidc');
    const token = browser.cookies.get('service_oauth')!;
    const { back } = await signIn('oidc', await knownAccount(), { browser });
    // The first attempt of this browser is still open, but with a different state.
    expect(browser.cookies.get('service_oauth')).toBe(token);
    expect((await browser.get(`${back.pathname}${back.search}`)).status).toBe(401);
    browser.cookies.delete('service_oauth');
    expect((await browser.get(`${back.pathname}${back.search}`)).status).toBe(400);
  });

  it('one provider’s start meets the other’s callback: 400', async () => {
    const browser = new Browser(pages.app);
    await browser.get('/auth/google');
    expect((await browser.get('/auth/oidc/callback?code=a&state=b')).status).toBe(400);
  });

  it('the user refused at the provider: 403 without a session', async () => {
    const browser = new Browser(pages.app);
    const { headers } = await browser.get('/auth/google');
    const state = new URL(headers.location!).searchParams.get('state')!;
    const iss = encodeURIComponent(google.issuer);
    const answer = await browser.get(`/auth/google/callback?error=access_denied&state=${state}&iss=${iss}`);
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('Google did not sign you in');
  });

  it('the provider is away: 503 in a page, and the next sign-in asks again', async () => {
    const gone = await startFakeOidc({ ...client, redirect_uris: [`${PUBLIC_URL}/auth/oidc/callback`] });
    await gone.close();
    const { app } = await startPages({ ...env, SERVICE_OIDC_ISSUER: gone.issuer });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const answer = await new Browser(app).get('/auth/oidc');
      expect(answer.status).toBe(503);
      expect(answer.text).toContain('Example Corp cannot be reached');
    }
  });
});

describe('a provider of another kind', () => {
  const withHeader = (token: string, header: object, signature: string) =>
    [Buffer.from(JSON.stringify(header)).toString('base64url'), token.split('.')[1], signature].join('.');

  /** Signs in at the provider `oidc` through a separate web tier. */
  async function atProvider(options: Partial<FakeOidcOptions>, account: OidcAccount, query = '') {
    const provider = await startFakeOidc({ ...client, ...redirects('oidc'), ...options });
    const lines: string[] = [];
    const own = await startPages({ ...env, SERVICE_OIDC_ISSUER: provider.issuer }, lines);
    const { answer } = await signIn('oidc', account, { browser: new Browser(own.app), query });
    await provider.close();
    return { status: answer.status, text: answer.text, log: lines.join('\n') };
  }

  it('takes the client’s secret by Basic only: signed in', async () => {
    const { status } = await atProvider({ auth_method: 'client_secret_basic' }, await knownAccount());
    expect(status).toBe(303);
  });

  it.each<[string, (token: string) => string]>([
    ['says that it is unsigned', (token) => withHeader(token, { alg: 'none' }, '')],
    ['is signed by somebody else', (token) => `${token.slice(0, token.lastIndexOf('.'))}.${'A'.repeat(342)}`],
    ['has no signature', (token) => token.slice(0, token.lastIndexOf('.') + 1)],
    [
      'is signed with the client’s secret',
      (token) => {
        const text = withHeader(token, { alg: 'HS256' }, '').slice(0, -1);
        return `${text}.${createHmac('sha256', client.client_secret).update(text).digest('base64url')}`;
      },
    ],
  ])('the ID token %s: 401, and the log holds neither token nor state', async (_what, mangle) => {
    let seen = '';
    const keep = (token: string) => mangle((seen = token));
    const { status, log } = await atProvider({ mangle: keep }, await knownAccount());
    expect(status).toBe(401);
    expect(log).toContain('a sign-in by a provider failed');
    expect(log).not.toMatch(new RegExp(`state|access_token|${seen.split('.')[1]}`));
  });

  it.each([
    ['a subject of 300 characters', { sub: 'x'.repeat(300), email: freshEmail() }],
    ['an address that is none', { sub: newId(), email: 'no address' }],
    ['a name of 600 characters', { sub: newId(), email: freshEmail(), name: 'n'.repeat(600) }],
    ['a NUL in the name', { sub: newId(), email: freshEmail(), name: 'a\0b' }],
  ])('a stranger with an invite comes with %s: 400, and no user is made', async (_what, account) => {
    const { token } = await invite();
    const query = `?invite=${token}`;
    const { answer } = await signIn('google', { ...account, email_verified: true }, { query });
    expect(answer.status).toBe(400);
    expect(await pages.database.db.$count(users, eq(users.email, account.email))).toBe(0);
  });
});

describe('an invite goes along', () => {
  it('a stranger accepts it by a provider: user, link and membership are made', async () => {
    const { company_id, token } = await invite('member');
    const account = { sub: newId(), email: freshEmail(), email_verified: true, name: 'New Comer' };
    const { answer, browser } = await signIn('oidc', account, { query: `?invite=${token}` });
    expect([answer.status, answer.headers.location]).toEqual([303, `/companies/${company_id}`]);
    expect(await me(browser)).toMatchObject({
      email: account.email,
      display_name: 'New Comer',
      instance_role: 'member',
    });
    const members = await browser.api('get', `/api/companies/${company_id}/members`);
    expect(members.body).toEqual([expect.objectContaining({ role: 'member' })]);
    // It has been used: the next one is a stranger again.
    const late = await signIn(
      'oidc',
      { ...account, sub: newId(), email: freshEmail() },
      { query: `?invite=${token}` },
    );
    expect(late.answer.status).toBe(404);
  });

  it('a stranger brings a known user’s address, unverified: 409, nobody is linked', async () => {
    const { email } = await user({ email: freshEmail() });
    const { token } = await invite();
    const { answer } = await signIn(
      'oidc',
      { sub: newId(), email, email_verified: false },
      { query: `?invite=${token}` },
    );
    expect(answer.status).toBe(409);
  });

  it('a known user takes it along, twice: a member once, and signed in both times', async () => {
    const { email } = await user({ email: freshEmail() });
    const account = { sub: newId(), email, email_verified: true };
    const first = await invite();
    const { browser } = await signIn('google', account, { query: `?invite=${first.token}` });
    expect((await browser.api('get', `/api/companies/${first.company_id}/members`)).status).toBe(200);
    const again = await transaction(pages.database, (tx) =>
      createInvite(tx, director, first.company_id, { role: 'admin' }),
    );
    const { answer } = await signIn('google', account, { query: `?invite=${again.token}` });
    expect(answer.status).toBe(303);
  });
});

describe('sign-in by GitHub', () => {
  it('a known user’s primary address is verified: signed in, linked by the numeric id', async () => {
    const { id, email } = await user({ email: freshEmail() });
    const number = Math.floor(Math.random() * 1e9);
    github.setAccount({
      id: number,
      login: 'octocat',
      name: null,
      emails: [
        { email: freshEmail(), primary: false, verified: true },
        { email, primary: true, verified: true },
      ],
    });
    const { answer, browser } = await byGithub();
    expect(answer.status).toBe(303);
    expect(await me(browser)).toMatchObject({ id });
    const [linked] = await pages.database.db
      .select()
      .from(oauth_accounts)
      .where(eq(oauth_accounts.user_id, id));
    expect(linked).toMatchObject({ provider: 'github', issuer: github.url, subject: String(number) });
  });

  it.each([
    ['is not verified', { primary: true, verified: false }],
    ['is not the primary one', { primary: false, verified: true }],
  ])('a known user’s address %s: 403', async (_what, flags) => {
    const { email } = await user({ email: freshEmail() });
    github.setAccount({ id: 7, login: 'mallory', emails: [{ email, ...flags }] });
    expect((await byGithub()).answer.status).toBe(403);
  });

  it('a stranger with an invite, named by the login alone: joins', async () => {
    const { token } = await invite();
    const email = freshEmail();
    const id = Math.floor(Math.random() * 1e9);
    github.setAccount({ id, login: 'newcomer', emails: [{ email, primary: true, verified: true }] });
    const { answer, browser } = await byGithub(new Browser(pages.app), `?invite=${token}`);
    expect(answer.status).toBe(303);
    expect(await me(browser)).toMatchObject({ email, display_name: 'newcomer' });
  });

  it('the code was stolen or is old: 401', async () => {
    const browser = new Browser(pages.app);
    const { headers } = await browser.get('/auth/github');
    const state = new URL(headers.location!).searchParams.get('state')!;
    const answer = await browser.get(`/auth/github/callback?code=old&state=${state}`);
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('the answer of GitHub could not be verified');
  });
});

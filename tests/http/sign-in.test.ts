/** The pages of sign-in, set-up and invites, as seen by a browser: cookies, lockout, cross-site rule. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createCompany,
  createInvite,
  createUser,
  hashPassword,
  issueSetupToken,
  systemActor,
} from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { createLogger, loadConfig, newId, newToken } from '@acp/kernel';
import { cloneDatabase, startFakeOidc, type TestDatabase } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import request from 'supertest';
import { createApp } from '../../apps/web/src/app.ts';
import { createCredentials } from '../../apps/web/src/http/credentials.ts';
import { uiRouter } from '../../apps/web/src/ui/router.ts';
import { Browser, type Pages, startPages } from './pages.ts';

const { sessions, users } = schema;
const director = systemActor('tests');
const password = 'a right password';

let pages: Pages;
let password_hash: string;
beforeAll(async () => {
  pages = await startPages();
  password_hash = await hashPassword(password);
});

async function account(values: { is_active?: boolean; password_hash?: string | null } = {}) {
  const email = `${newId()}@example.com`;
  const [user] = await pages.database.db
    .insert(users)
    .values({ email, display_name: '<b>Ada</b>', password_hash, ...values })
    .returning();
  return user!;
}

const open = () => new Browser(pages.app);
const countSessions = (user: { id: string }) =>
  pages.database.db.$count(sessions, eq(sessions.user_id, user.id));

async function signedIn() {
  const user = await account();
  const browser = open();
  const answer = await browser.post('/login', { email: user.email, password });
  return { user, browser, answer };
}

describe('the login page', () => {
  it('a stranger opens a page: sent to /login; the API says 401 instead', async () => {
    const { status, headers } = await open().get('/companies');
    expect([status, headers.location]).toEqual([303, '/login']);
    expect((await open().get('/login')).text).toContain('name="password"');
    expect((await open().api('get', '/api/me')).status).toBe(401);
  });

  it('the password is right: 303 to /companies with a session of seven days', async () => {
    const { user, browser, answer } = await signedIn();
    expect([answer.status, answer.headers.location]).toEqual([303, '/companies']);
    expect(browser.lastSetCookie).toEqual([
      expect.stringMatching(
        /^service_session=[\w-]{43}; Max-Age=604800; Path=\/; Expires=.*; HttpOnly; SameSite=Lax$/,
      ),
    ]);
    expect((await browser.api('get', '/api/me')).body).toMatchObject({ id: user.id });
    const page = await browser.get('/companies');
    expect(page.status).toBe(200);
    expect(page.text).toContain('&#60;b&#62;Ada&#60;/b&#62;');
  });

  it('the public URL is https: the cookie is Secure', async () => {
    const { app } = await startPages({ SERVICE_PUBLIC_URL: 'https://acp.example' });
    const { email } = await account();
    const browser = new Browser(app);
    await browser.post('/login', { email, password });
    expect(browser.lastSetCookie[0]).toMatch(/; Secure/);
  });

  it.each([
    ['the password is wrong', {}, 'another password'],
    ['the account is deactivated', { is_active: false }, password],
    ['the account has no password', { password_hash: null }, password],
  ])('%s: 401 in the page, which keeps the e-mail, and no session', async (_what, values, typed) => {
    const user = await account(values);
    const browser = open();
    const { status, text } = await browser.post('/login', { email: user.email, password: typed });
    expect(status).toBe(401);
    expect(text).toContain('wrong e-mail or password');
    expect(text).toContain(`value="${user.email}"`);
    expect(text).not.toContain(typed);
    expect(browser.cookies.size).toBe(0);
    expect(await countSessions(user)).toBe(0);
  });

  it('nobody has the e-mail: the same answer', async () => {
    const { status, text } = await open().post('/login', { email: `${newId()}@example.com`, password });
    expect(status).toBe(401);
    expect(text).toContain('wrong e-mail or password');
  });

  it.each([{}, { email: 'x' }, { email: '', password: '' }, { email: 'x'.repeat(400), password }])(
    'the form is %j: 400 in the page',
    async (form) => {
      const { status, headers } = await open().post('/login', form as Record<string, string>);
      expect([status, headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
    },
  );

  it('markup is typed as e-mail: it comes back as text', async () => {
    const { text } = await open().post('/login', { email: '"><script>x</script>', password });
    expect(text).not.toContain('<script>');
  });

  it('five wrong passwords came: the right one is refused with 429 and Retry-After', async () => {
    const { email } = await account();
    for (let n = 0; n < 5; n += 1) {
      expect((await open().post('/login', { email, password: `wrong ${n}` })).status).toBe(401);
    }
    const { status, headers } = await open().post('/login', { email, password });
    expect(status).toBe(429);
    expect(Number(headers['retry-after'])).toBeGreaterThan(800);
  });

  it('20 wrong passwords come at once: five are looked at', async () => {
    const { email } = await account();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => open().post('/login', { email, password: `wrong ${n}` })),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(15);
  });

  it('ten right ones come at once: ten sessions', async () => {
    const user = await account();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => open().post('/login', { email: user.email, password })),
    );
    expect(answers.every(({ status }) => status === 303)).toBe(true);
    expect(await countSessions(user)).toBe(10);
  });
});

describe('logout', () => {
  it('the session ends on the server, and the cookie goes', async () => {
    const { user, browser } = await signedIn();
    const token = browser.cookies.get('service_session')!;
    const { status, headers } = await browser.post('/logout');
    expect([status, headers.location]).toEqual([303, '/login']);
    expect(browser.cookies.has('service_session')).toBe(false);
    expect(await countSessions(user)).toBe(0);
    browser.cookies.set('service_session', token);
    expect((await browser.api('get', '/api/me')).status).toBe(401);
  });

  it('nobody is signed in: to the login page all the same', async () => {
    expect((await open().post('/logout')).status).toBe(303);
  });
});

describe('a form comes from another site', () => {
  const foreign = [{ 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }] as const;

  it.each(foreign)('%j: 403 for every form, cookie or none', async (headers) => {
    const { user, browser } = await signedIn();
    for (const path of ['/login', '/logout', '/setup', `/invites/${newToken()}`]) {
      expect((await open().post(path, {}, headers)).status).toBe(403);
      expect((await browser.post(path, {}, headers)).status).toBe(403);
    }
    expect(await countSessions(user)).toBe(1);
  });

  it('an old browser tells the origin alone: ours passes, another is 403', async () => {
    const { email } = await account();
    const send = (origin: string) =>
      request(pages.app).post('/login').type('form').set('Origin', origin).send({ email, password });
    expect((await send('https://evil.example')).status).toBe(403);
    expect((await send('null')).status).toBe(403);
    expect((await send('http://localhost:3100')).status).toBe(303);
  });

  it('a script tells nothing: passes', async () => {
    const { email } = await account();
    expect((await request(pages.app).post('/login').type('form').send({ email, password })).status).toBe(303);
  });
});

describe('the set-up page', () => {
  let kit: TestDatabase;
  let fresh: Database;
  let browser: Browser;
  const values = { email: 'first@example.com', display_name: 'First', password };

  beforeAll(async () => {
    kit = await cloneDatabase('setup_page');
    fresh = kit.database;
    const logger = createLogger({ level: 'error', format: 'json', role: 'test' });
    const config = loadConfig({ RATE_LIMIT_RPM: '0' });
    const credentials = createCredentials({ database: fresh, logger });
    const ui = uiRouter({ config, database: fresh, credentials, logger });
    browser = new Browser(createApp({ database: fresh, logger, config, credentials, ui }));
  });
  afterAll(async () => kit.close());

  it('the link is right: the first admin is made and signed in, once', async () => {
    const token = (await transaction(fresh, issueSetupToken))!;
    const hint = 'Nobody has an account yet.';
    expect((await browser.get('/login')).text).toContain(hint);
    expect((await browser.get('/setup')).status).toBe(403);
    const unknown = await browser.get(`/setup?token=${newToken()}`);
    expect(unknown.status).toBe(403);
    expect(unknown.text).toContain('restart the service');
    expect((await browser.get(`/setup?token=${token}`)).text).toContain('Create the first administrator');

    const short = await browser.post('/setup', { ...values, token, password: 'short' });
    expect(short.status).toBe(400);
    expect(short.text).toContain('value="first@example.com"');
    expect((await browser.post('/setup', { ...values, token: newToken() })).status).toBe(403);

    expect((await browser.post('/setup', { ...values, token })).status).toBe(303);
    expect((await browser.api('get', '/api/me')).body).toMatchObject({
      email: values.email,
      instance_role: 'admin',
    });
    expect((await browser.get('/login')).text).not.toContain(hint);
    expect((await browser.get(`/setup?token=${token}`)).status).toBe(403);
    expect((await browser.post('/setup', { ...values, email: 'second@example.com', token })).status).toBe(
      403,
    );
  });
});

const form = () => ({ email: `${newId()}@example.com`, display_name: 'New', password });

async function invite() {
  return transaction(pages.database, async (tx) => {
    const company = await createCompany(tx, director, { name: 'A & Co', slug: `a-${newId()}` });
    const { token } = await createInvite(tx, director, company.id, { role: 'member' });
    return { company, path: `/invites/${token}` };
  });
}

describe('the page of an invite', () => {
  it('a newcomer creates an account: signed in and a member; the link is spent', async () => {
    const { company, path } = await invite();
    const browser = open();
    const page = await browser.get(path);
    expect(page.text).toContain('Join A &#38; Co');
    expect(page.headers['cache-control']).toBe('no-store');
    const values = form();
    const { status, headers } = await browser.post(path, values);
    expect([status, headers.location]).toEqual([303, `/companies/${company.id}`]);
    expect((await browser.api('get', '/api/me')).body).toMatchObject({
      email: values.email,
      instance_role: 'member',
    });
    expect((await browser.api('get', `/api/companies/${company.id}/members`)).body).toHaveLength(1);
    expect((await browser.get(path)).status).toBe(404);
    expect((await open().post(path, form())).status).toBe(404);
  });

  it('the signed-in user joins as who he is; a member is told so', async () => {
    const [one, { user, browser }] = [await invite(), await signedIn()];
    expect((await browser.get(one.path)).text).toContain('Join as &#60;b&#62;Ada&#60;/b&#62;');
    expect((await browser.post(one.path, { accept: 'yes' })).status).toBe(303);
    const { body } = await browser.api('get', `/api/companies/${one.company.id}/members`);
    expect(body).toMatchObject([{ user_id: user.id }]);
    const again = await transaction(pages.database, (tx) =>
      createInvite(tx, director, one.company.id, { role: 'admin' }),
    );
    const answer = await browser.post(`/invites/${again.token}`, { accept: 'yes' });
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('already a member');
  });

  it('the e-mail is in use, or the form is incomplete: the page says so and the link stays', async () => {
    const { path } = await invite();
    const { email } = await account();
    const taken = await open().post(path, { ...form(), email });
    expect(taken.status).toBe(409);
    expect(taken.text).toContain('email is already in use');
    expect((await open().post(path, { ...form(), password: 'short' })).status).toBe(400);
    expect((await open().post(path, {})).status).toBe(400);
    expect((await open().post(path, { accept: 'yes' })).status).toBe(404);
    expect((await open().get(path)).status).toBe(200);
  });

  it('a link elsewhere leads straight to a provider: the page asks first', async () => {
    const oidc = await startFakeOidc({ client_id: 'c', client_secret: 's', redirect_uris: [] });
    const { app } = await startPages({
      SERVICE_OIDC_ISSUER: oidc.issuer,
      SERVICE_OIDC_CLIENT_ID: 'c',
      SERVICE_OIDC_CLIENT_SECRET: 's',
    });
    const { path } = await invite();
    const begin = async (site: string) =>
      (await request(app).get(path.replace('/invites/', '/auth/oidc?invite=')).set('Sec-Fetch-Site', site))
        .headers.location;
    for (const site of ['cross-site', 'same-site', 'none']) expect(await begin(site)).toBe(path);
    expect(await begin('same-origin')).toContain(oidc.issuer);
    await oidc.close();
  });

  it('the link is nobody’s: 404 in a page', async () => {
    const { status, text } = await open().get(`/invites/${newToken()}`);
    expect(status).toBe(404);
    expect(text).toContain('no longer valid');
  });

  it('two newcomers send the form at once: one account', async () => {
    const { company, path } = await invite();
    const answers = await Promise.all([open().post(path, form()), open().post(path, form())]);
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['303', '404']);
    expect(
      await pages.database.db.$count(schema.memberships, eq(schema.memberships.company_id, company.id)),
    ).toBe(1);
  });
});

it('a user made for a test by the command itself can sign in', async () => {
  const email = `${newId()}@example.com`;
  const user = { email, display_name: 'Made', password_hash, instance_role: 'member' } as const;
  await transaction(pages.database, (tx) => createUser(tx, user));
  expect((await open().post('/login', { email: email.toUpperCase(), password })).status).toBe(303);
});

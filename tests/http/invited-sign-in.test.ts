/** Sign-ins by a provider that carry an invite, by users with a second factor and by several at once. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createCompany, createInvite, createUser, hashPassword, isMember, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import {
  type FakeOidc,
  type OidcAccount,
  signInAt,
  SoftwareAuthenticator,
  startFakeOidc,
  totpCode,
} from '@acp/testkit';
import { Browser, type Pages, PUBLIC_URL, startPages } from './pages.ts';

const client = { client_id: 'the-service', client_secret: 'a secret of the client, long enough' };
const director = systemActor('tests');
const password = 'a right password';

let oidc: FakeOidc;
let pages: Pages;
beforeAll(async () => {
  oidc = await startFakeOidc({ ...client, redirect_uris: [`${PUBLIC_URL}/auth/oidc/callback`] });
  pages = await startPages({
    SERVICE_OIDC_ISSUER: oidc.issuer,
    SERVICE_OIDC_CLIENT_ID: client.client_id,
    SERVICE_OIDC_CLIENT_SECRET: client.client_secret,
    SERVICE_ENCRYPTION_KEY: Buffer.alloc(32, 9).toString('hex'),
  });
});
afterAll(() => oidc.close());

async function invite() {
  return transaction(pages.database, async (tx) => {
    const company = await createCompany(tx, director, { name: 'Inviting', slug: `i-${newId()}` });
    const { id, token } = await createInvite(tx, director, company.id, { role: 'viewer' });
    return { id, company_id: company.id, token: token! };
  });
}

async function knownUser() {
  const email = `${newId()}@example.com`;
  const password_hash = await hashPassword(password);
  const { id } = await transaction(pages.database, (tx) =>
    createUser(tx, { email, display_name: 'Known', password_hash, instance_role: 'member' }),
  );
  const browser = new Browser(pages.app);
  await browser.post('/login', { email, password, next: '/companies' });
  return { id, browser, account: { sub: newId(), email, email_verified: true } };
}

async function withApp() {
  const user = await knownUser();
  const { body } = await user.browser.api('post', '/api/me/second-factors/totp');
  await user.browser.api('post', '/api/me/second-factors/totp/confirm', { code: totpCode(body.secret) });
  return { ...user, nextCode: () => totpCode(body.secret, Date.now() + 30_000) };
}

/** Up to the callback, which the caller may send. */
async function underway(account: OidcAccount, token: string) {
  const browser = new Browser(pages.app);
  const start = await browser.get(`/auth/oidc?invite=${token}`);
  const back = new URL(await signInAt(start.headers.location!, account));
  return { browser, arrive: async () => browser.get(`${back.pathname}${back.search}`) };
}

async function signIn(account: OidcAccount, token: string) {
  const { browser, arrive } = await underway(account, token);
  return { browser, answer: await arrive() };
}

const joined = async (company_id: string, user_id: string) =>
  isMember(pages.database.db, company_id, user_id);

it('by an app: the company is joined with the code, not before', async () => {
  const { id, account, nextCode } = await withApp();
  const { company_id, token } = await invite();
  const { browser, answer } = await signIn(account, token);
  expect(answer.headers.location).toBe('/login/second-factor');
  expect(await joined(company_id, id)).toBe(false);
  expect((await browser.post('/login/second-factor', { code: '000000' })).status).toBe(403);
  expect(await joined(company_id, id)).toBe(false);
  const done = await browser.post('/login/second-factor', { code: nextCode() });
  expect([done.status, done.headers.location]).toEqual([303, `/companies/${company_id}`]);
  expect(await joined(company_id, id)).toBe(true);
  expect((await browser.api('get', `/api/companies/${company_id}/members`)).status).toBe(200);
});

it('by a passkey: the same', async () => {
  const { id, account, browser: own } = await knownUser();
  const device = new SoftwareAuthenticator(PUBLIC_URL);
  const { body: options } = await own.api('post', '/api/me/passkeys/options');
  await own.api('post', '/api/me/passkeys', { name: 'Laptop', response: device.create(options) });
  const { company_id, token } = await invite();
  const { browser } = await signIn(account, token);
  const { body: asked } = await browser.json('/login/passkey/options', {});
  expect(await joined(company_id, id)).toBe(false);
  expect((await browser.json('/login/passkey', device.get(asked))).status).toBe(200);
  expect(await joined(company_id, id)).toBe(true);
});

it('the invite is revoked between the steps: 404 in a page, and the same code signs in without it', async () => {
  const { id, account, browser: own, nextCode } = await withApp();
  const { id: invite_id, company_id, token } = await invite();
  const { browser } = await signIn(account, token);
  await pages.database.pool.query('delete from invites where id = $1', [invite_id]);
  const code = nextCode();
  const { status, text } = await browser.post('/login/second-factor', { code });
  expect({ status, says: text.includes('this invite is no longer valid') }).toEqual({
    status: 404,
    says: true,
  });
  expect((await browser.api('get', '/api/me')).status).toBe(401);
  await own.post('/login', { email: account.email, password, next: '/companies' });
  expect((await own.post('/login/second-factor', { code })).status).toBe(303);
  expect(await joined(company_id, id)).toBe(false);
});

it('a newcomer arrives in two tabs at once: one account and one membership, and both tabs are signed in', async () => {
  const { company_id, token } = await invite();
  const account = { sub: newId(), email: `${newId()}@example.com`, email_verified: true };
  const tabs = [await underway(account, token), await underway(account, token)];
  const answers = await Promise.all(tabs.map(({ arrive }) => arrive()));
  expect(answers.map(({ status }) => status)).toEqual([303, 303]);
  for (const { browser } of tabs) expect((await browser.api('get', '/api/me')).status).toBe(200);
  const { rows } = await pages.database.pool.query(
    'select m.company_id from users u join memberships m on m.user_id = u.id where u.email = $1',
    [account.email],
  );
  expect(rows).toEqual([{ company_id }]);
});

it('a known user arrives in two tabs, at once or one after the other: a member, and signed in by both', async () => {
  const { id, account } = await knownUser();
  const { company_id, token } = await invite();
  const tabs = await Promise.all([1, 2, 3].map(async () => underway(account, token)));
  const answers = await Promise.all(tabs.slice(1).map(({ arrive }) => arrive()));
  answers.push(await tabs[0]!.arrive());
  expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
  expect(await joined(company_id, id)).toBe(true);
});

it('a signed-in user accepts in two tabs, at once or one after the other: a member, and told of no error', async () => {
  const { id, browser } = await knownUser();
  const { company_id, token } = await invite();
  const accept = async (by = browser) => by.post(`/invites/${token}`, { accept: 'yes' });
  const answers = [...(await Promise.all([accept(), accept()])), await accept()];
  const arrived = [303, `/companies/${company_id}`];
  expect(answers.map(({ status, headers }) => [status, headers.location])).toEqual(
    Array.from({ length: 3 }, () => arrived),
  );
  expect(await joined(company_id, id)).toBe(true);
  expect((await accept((await knownUser()).browser)).status).toBe(404);
});

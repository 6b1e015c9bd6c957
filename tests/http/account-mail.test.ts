/** Address confirmation by mail, and forgotten passwords, as seen by a browser and a mailbox. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  answerPasswordReset,
  claimMessages,
  createCompany,
  createInvite,
  createUser,
  findUser,
  hashPassword,
  linkProvider,
  sweepPasswordResets,
  systemActor,
} from '@acp/core';
import { schema, transaction } from '@acp/db';
import { newId, Vault } from '@acp/kernel';
import { type FakeOidc, type OidcAccount, queuedJobs, signInAt, startFakeOidc, totpCode } from '@acp/testkit';
import request from 'supertest';
import { Browser, type Pages, PUBLIC_URL, startPages } from './pages.ts';

const password = 'a right password';
const better = 'seven sails at dawn';
const director = systemActor('tests');
const key = Buffer.alloc(32, 5);
const vault = new Vault(key);
const mailing = { vault, mail: true, public_url: PUBLIC_URL };
const env = {
  SERVICE_ENCRYPTION_KEY: key.toString('hex'),
  SERVICE_SMTP_URL: 'smtp://127.0.0.1:2525',
  SERVICE_MAIL_FROM: 'plane@example.com',
};

let pages: Pages;
/** A second web process, and one without mail. */
let other: Pages;
let mailless: Pages;
beforeAll(async () => {
  pages = await startPages(env);
  other = await startPages(env);
  mailless = await startPages({ SERVICE_ENCRYPTION_KEY: env.SERVICE_ENCRYPTION_KEY });
});
beforeEach(async () => {
  await pages.database.pool.query('delete from outgoing_messages');
  await pages.database.pool.query('delete from account_mails');
});

async function account(values: { email_verified?: boolean; password_hash?: string | null } = {}) {
  const email = `${newId()}@example.com`;
  const password_hash = await hashPassword(password);
  const { id } = await transaction(pages.database, (tx) =>
    createUser(tx, { email, display_name: 'A User', password_hash, instance_role: 'member', ...values }),
  );
  return { id, email };
}

async function login(email: string, typed = password, at = pages) {
  const browser = new Browser(at.app);
  const answer = await browser.post('/login', { email, password: typed });
  return { browser, answer };
}
const signedIn = async (browser: Browser) => (await browser.api('get', '/api/me')).status === 200;

/** Takes the mails out of the queue, as a scheduler does. */
async function mails() {
  return transaction(pages.database, async (tx) => {
    const claimed = await claimMessages(tx, vault, 50, 60);
    await tx.delete(schema.outgoing_messages);
    return claimed.map(({ recipient, subject, body }) => ({ recipient, subject, body }));
  });
}
/** Does the scheduler's pending work, then returns the mails. */
async function answered() {
  const jobs = await queuedJobs(pages.database.db, 'answer-password-reset');
  await pages.database.pool.query(`delete from pgboss.job where name = 'answer-password-reset'`);
  for (const { request_id } of jobs)
    await transaction(pages.database, (tx) => answerPasswordReset(tx, String(request_id), mailing));
  return mails();
}
/** Pairs a chat identity that acts in the user's name. */
async function pair(user_id: string) {
  await pages.database.pool.query(
    `with c as (insert into companies (name, slug, identifier_prefix) values ('C', $2, 'CCC') returning id),
     ch as (insert into channels (company_id, kind, name, bot_token) select id, 'slack', 'S', 'x' from c returning id, company_id)
     insert into chat_pairings (channel_id, company_id, channel, user_id, external_id, external_name)
     select id, company_id, 'slack', $1, 'U1', 'Ada' from ch`,
    [user_id, `pairing-${user_id}`],
  );
  expect(await pairings(user_id)).toBe(1);
}
async function pairings(user_id: string) {
  const text = 'select 1 from chat_pairings where user_id = $1 and revoked_at is null';
  return (await pages.database.pool.query(text, [user_id])).rows.length;
}

const tokenIn = (body: string) => /token=([\w-]{43})/.exec(body)?.[1] ?? '';
const linkFor = (sent: Awaited<ReturnType<typeof mails>>, recipient: string) =>
  tokenIn(sent.find((mail) => mail.recipient === recipient)?.body ?? '');

const ask = (email: string, at = pages) => new Browser(at.app).post('/forgot-password', { email });
const complete = (token: string, new_password = better, at = pages) =>
  new Browser(at.app).post('/reset-password', { token, new_password });
async function resetLink(email: string) {
  await ask(email);
  return linkFor(await answered(), email);
}

describe('a new address', () => {
  const change = (browser: Browser, email: string) =>
    browser.api('patch', '/api/me', { email, current_password: password });

  it('holds once its link has come back: until then the former one signs in; it is told, and other sessions end', async () => {
    const { id, email } = await account();
    const { browser } = await login(email);
    const elsewhere = await login(email);
    const next = `${newId()}@example.com`;
    expect((await change(browser, next)).body).toEqual({
      id,
      email,
      display_name: 'A User',
      instance_role: 'member',
    });
    const sent = await mails();
    expect(sent.map(({ recipient }) => recipient).toSorted()).toEqual([email, next].toSorted());
    expect(sent.find(({ recipient }) => recipient === email)!.body).toContain(`to ${next}`);
    expect(tokenIn(sent.find(({ recipient }) => recipient === email)!.body)).toBe('');
    const token = linkFor(sent, next);
    expect((await browser.api('get', '/api/me/email')).body).toMatchObject({ email, pending_email: next });
    expect([await signedIn(elsewhere.browser), (await login(next)).answer.status]).toEqual([true, 401]);

    // Programs that follow links confirm nothing, nor does another user's session.
    expect((await browser.get(`/confirm-email?token=${token}`)).text).toContain(next);
    const stranger = (await login((await account()).email)).browser;
    expect((await stranger.get(`/confirm-email?token=${token}`)).text).not.toContain(next);
    expect((await stranger.api('post', '/api/me/email/confirm', { token })).status).toBe(404);
    expect((await browser.get('/profile')).text).toContain('Confirm your new address');

    const confirmed = await browser.post('/confirm-email', { token });
    expect(confirmed.headers.location).toBe('/profile?done=confirmed');
    expect((await browser.api('get', '/api/me/email')).body).toMatchObject({
      email: next,
      verified_at: expect.any(String),
      pending_email: null,
    });
    expect([await signedIn(browser), await signedIn(elsewhere.browser)]).toEqual([true, false]);
    expect([(await login(email)).answer.status, (await login(next)).answer.status]).toEqual([401, 303]);
    expect(await mails()).toMatchObject([{ recipient: email, body: expect.stringContaining(`to ${next}`) }]);
    expect((await browser.api('post', '/api/me/email/confirm', { token })).status).toBe(404);
    const { rows } = await pages.database.pool.query(
      'select kind from security_events where user_id = $1 and kind like $2 order by created_at',
      [id, 'email.%'],
    );
    expect(rows).toEqual([{ kind: 'email.change_requested' }, { kind: 'email.changed' }]);
  });

  it('that another account has looks like any other, but to its owner; nothing confirms it', async () => {
    const [owner, user] = [await account(), await account()];
    const { browser } = await login(user.email);
    const free = `${newId()}@example.com`;
    const answers = [await change(browser, free), await change(browser, owner.email.toUpperCase())];
    expect(answers.map(({ status, body }) => ({ status, body }))[0]).toEqual(
      answers.map(({ status, body }) => ({ status, body }))[1],
    );
    const sent = await mails();
    expect(linkFor(sent, free)).not.toBe('');
    const told = sent.find(({ recipient }) => recipient === owner.email.toUpperCase())!;
    expect([told.subject, tokenIn(told.body)]).toEqual([
      expect.stringContaining('has an account already'),
      '',
    ]);
    // The second request invalidated the earlier link.
    const token = linkFor(sent, free);
    expect((await browser.api('post', '/api/me/email/confirm', { token })).status).toBe(404);
  });

  it('is taken back, and its link ends; resending is bounded', async () => {
    const { email } = await account();
    const { browser } = await login(email);
    const next = `${newId()}@example.com`;
    await browser.post('/profile', { display_name: 'A User', email: next, current_password: password });
    const first = linkFor(await mails(), next);
    expect((await browser.post('/profile/email/resend')).headers.location).toBe('/profile?done=sent');
    const second = linkFor(await mails(), next);
    expect((await browser.api('post', '/api/me/email/confirm', { token: first })).status).toBe(404);
    for (let n = 0; n < 3; n += 1) await browser.api('post', '/api/me/email/resend');
    const refused = await browser.api('post', '/api/me/email/resend');
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '3600']);
    expect((await browser.api('delete', '/api/me/email/pending')).status).toBe(204);
    expect((await browser.api('delete', '/api/me/email/pending')).status).toBe(404);
    expect((await browser.api('post', '/api/me/email/confirm', { token: second })).status).toBe(404);
    expect((await browser.api('post', '/api/me/email/resend')).body).toEqual({
      error: 'the address is already confirmed',
    });
  });

  it('that an admin gives an open account holds once its owner confirms it; without mail it holds at once', async () => {
    const admin = await account();
    await pages.database.pool.query(`update users set instance_role = 'admin' where id = $1`, [admin.id]);
    const { email, id } = await account();
    const next = `${newId()}@example.com`;
    const { browser } = await login(admin.email);
    const path = `/api/users/${id}`;
    expect((await browser.api('patch', path, { email: next, display_name: 'B' })).body).toMatchObject({
      email,
      display_name: 'B',
    });
    expect((await browser.get(`/admin/users/${id}`)).text).toContain(next);
    const taken = await browser.api('patch', path, { email: admin.email });
    expect([taken.status, taken.body]).toEqual([409, { error: 'email is already in use' }]);
    const token = linkFor(await mails(), next);
    const user = await login(email);
    expect((await user.browser.api('post', '/api/me/email/confirm', { token })).body).toMatchObject({
      email: next,
    });
    const plain = await login(admin.email, password, mailless);
    const last = `${newId()}@example.com`;
    expect((await plain.browser.api('patch', path, { email: last })).body).toMatchObject({ email: last });
    expect(await signedIn(user.browser)).toBe(false);
    expect((await plain.browser.get('/profile')).text).not.toContain('Confirm your');
    expect((await plain.browser.api('post', '/api/me/email/resend')).status).toBe(409);
  });

  it('of a newcomer by an invite gets a link, which only the newcomer can use', async () => {
    const company = await transaction(pages.database, (tx) =>
      createCompany(tx, director, { name: 'Harbour', slug: `harbour-${newId()}` }),
    );
    const { token } = await transaction(pages.database, (tx) =>
      createInvite(tx, director, company.id, { role: 'member' }),
    );
    const browser = new Browser(pages.app);
    const email = `${newId()}@example.com`;
    await browser.post(`/invites/${token!}`, { email, display_name: 'New', password: better });
    const link = linkFor(await mails(), email);
    // A reader of the mailbox who is not signed in to the account is asked to sign in.
    const visitor = await new Browser(pages.app).get(`/confirm-email?token=${link}`);
    expect(visitor.headers.location).toBe(
      `/login?next=${encodeURIComponent(`/confirm-email?token=${link}`)}`,
    );
    expect((await browser.api('get', '/api/me/email')).body.verified_at).toBeNull();
    await browser.post('/confirm-email', { token: link });
    expect((await browser.api('get', '/api/me/email')).body.verified_at).not.toBeNull();
  });
});

describe('a newcomer by a provider', () => {
  const client = { client_id: 'control-plane', client_secret: 'a secret' };
  let oidc: FakeOidc;
  let app: Pages['app'];
  beforeAll(async () => {
    oidc = await startFakeOidc({ ...client, redirect_uris: [`${PUBLIC_URL}/auth/oidc/callback`] });
    const provider = { SERVICE_OIDC_ISSUER: oidc.issuer, SERVICE_OIDC_CLIENT_ID: client.client_id };
    ({ app } = await startPages({ ...env, ...provider, SERVICE_OIDC_CLIENT_SECRET: client.client_secret }));
  });
  afterAll(async () => oidc.close());

  async function signIn(who: OidcAccount, query = '') {
    const browser = new Browser(app);
    const start = await browser.get(`/auth/oidc${query}`);
    const back = new URL(await signInAt(start.headers.location!, who));
    expect((await browser.get(`${back.pathname}${back.search}`)).status).toBe(303);
    return browser;
  }

  it('whose address the provider has not verified gets a link; whoever takes the account over finds no other address waiting', async () => {
    const company = await transaction(pages.database, (tx) =>
      createCompany(tx, director, { name: 'Harbour', slug: `harbour-${newId()}` }),
    );
    const { token } = await transaction(pages.database, (tx) =>
      createInvite(tx, director, company.id, { role: 'member' }),
    );
    const [email, next] = [`${newId()}@example.com`, `${newId()}@example.com`];
    const browser = await signIn({ sub: newId(), email, email_verified: false }, `?invite=${token!}`);
    expect(linkFor(await mails(), email)).not.toBe('');
    expect((await browser.api('patch', '/api/me', { email: next })).body).toMatchObject({ email });
    expect(linkFor(await mails(), next)).not.toBe('');
    const { id } = (await browser.api('get', '/api/me')).body as { id: string };
    await pair(id);
    const owner = await signIn({ sub: newId(), email, email_verified: true });
    expect(await pairings(id)).toBe(0);
    expect((await owner.api('get', '/api/me/email')).body).toMatchObject({
      email,
      verified_at: expect.any(String),
      pending_email: null,
    });
    expect(await signedIn(browser)).toBe(false);
  });
});

describe('a sign-up by an invite', () => {
  it('under addresses that are taken is told so five times, then not even of a free one', async () => {
    const company = await transaction(pages.database, (tx) =>
      createCompany(tx, director, { name: 'Harbour', slug: `harbour-${newId()}` }),
    );
    const { token } = await transaction(pages.database, (tx) =>
      createInvite(tx, director, company.id, { role: 'member' }),
    );
    const { email } = await account();
    const join = (as: string) =>
      new Browser(pages.app).post(`/invites/${token!}`, { email: as, display_name: 'N', password: better });
    for (let n = 0; n < 5; n += 1) expect((await join(email)).status).toBe(409);
    for (const as of [email, `${newId()}@example.com`]) expect((await join(as)).status).toBe(429);
    // In whatever language it is asked.
    const answer = await request(pages.app)
      .post(`/invites/${token!}`)
      .set('Accept-Language', 'de')
      .type('form')
      .send({ email, display_name: 'N', password: better });
    expect(answer.status).toBe(429);
  });
});

describe('a forgotten password', () => {
  it('is set by the mailed link, once, at another web process too: all sessions end, failed logins are forgotten, its owner is told', async () => {
    const { id, email } = await account();
    const { browser } = await login(email);
    for (let n = 0; n < 5; n += 1) await login(email, 'wrong');
    expect((await login(email)).answer.status).toBe(429);
    const asked = await ask(email.toUpperCase());
    expect([asked.status, asked.headers['cache-control']]).toEqual([200, 'no-store']);
    const [sent] = await answered();
    expect(sent).toMatchObject({ recipient: email, subject: expect.stringContaining('A new password') });
    const token = tokenIn(sent!.body);
    expect(sent!.body).toContain(`${PUBLIC_URL}/reset-password?token=${token}`);
    const opened = await new Browser(other.app).get(`/reset-password?token=${token}`);
    expect([opened.status, opened.text.includes(email)]).toEqual([200, true]);
    for (const weak of ['password1', email, 'short'])
      expect((await complete(token, weak, other)).status).toBe(400);
    const done = await complete(token, better, other);
    expect([done.status, done.headers.location]).toEqual([303, '/login?done=password']);
    expect(done.headers['set-cookie']).toBeUndefined();
    expect(await signedIn(browser)).toBe(false);
    expect([(await login(email)).answer.status, (await login(email, better)).answer.status]).toEqual([
      401, 303,
    ]);
    expect([
      (await complete(token)).status,
      (await new Browser(pages.app).get(`/reset-password?token=${token}`)).status,
    ]).toEqual([404, 404]);
    expect(await mails()).toMatchObject([{ recipient: email, subject: expect.stringContaining('changed') }]);
    const { rows } = await pages.database.pool.query(
      `select kind from security_events where user_id = $1 and kind like 'password%' order by created_at`,
      [id],
    );
    expect(rows).toEqual([{ kind: 'password_reset.requested' }, { kind: 'password.changed' }]);
  });

  it('of nobody answers the same, writes the same, and mails nothing; so does a closed account’s', async () => {
    const { email } = await account();
    const closed = await account();
    await pages.database.pool.query('update users set is_active = false where id = $1', [closed.id]);
    const nobody = `${newId()}@example.com`;
    const answers = [await ask(email), await ask(nobody), await ask(closed.email)];
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { rows } = await pages.database.pool.query(
      'select user_id, sent, answered_at from account_mails order by created_at',
    );
    expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(1);
    expect((await answered()).map(({ recipient }) => recipient)).toEqual([email]);
  });

  it('has no link from the request’s own host', async () => {
    const { email } = await account();
    await request(pages.app)
      .post('/api/password-resets')
      .set({ host: 'evil.example', 'x-forwarded-host': 'evil.example' })
      .send({ email })
      .expect(200);
    const [sent] = await answered();
    expect(sent!.body).not.toContain('evil.example');
  });

  it('brings three mails an hour to one address, and takes ten requests from one', async () => {
    const { email } = await account();
    for (let n = 0; n < 5; n += 1) expect((await ask(email)).status).toBe(200);
    expect(await answered()).toHaveLength(3);
    for (let n = 0; n < 5; n += 1) await ask(`${newId()}@example.com`);
    const refused = await ask(email, other);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '3600']);
  });

  it('still asks for the second factor, and leaves its lockout', async () => {
    const user = await account();
    const { browser } = await login(user.email);
    const { body } = await browser.api('post', '/api/me/second-factors/totp');
    await browser.api('post', '/api/me/second-factors/totp/confirm', { code: totpCode(body.secret) });
    const step = await login(user.email);
    for (let n = 0; n < 5; n += 1) await step.browser.post('/login/second-factor', { code: '000000' });
    await complete(await resetLink(user.email));
    const { browser: next, answer } = await login(user.email, better);
    expect(answer.headers.location).toBe('/login/second-factor');
    const code = totpCode(body.secret, Date.now() + 30_000);
    expect((await next.post('/login/second-factor', { code })).status).toBe(429);
  });

  it('of an account without one is answered by mail alone, with the way to sign in', async () => {
    const { id, email } = await account({ password_hash: null });
    const identity = { provider: 'google', issuer: 'https://g.example', subject: newId() } as const;
    await transaction(pages.database, (tx) =>
      linkProvider(tx, id, { ...identity, email, email_verified: true, display_name: null }, () => null),
    );
    await ask(email);
    const [sent] = await answered();
    expect(sent!.body).toContain('You sign in by Google');
    expect(tokenIn(sent!.body)).toBe('');
  });

  it('of an address that nobody vouched for proves it: links to other identities end; a second factor is in its way', async () => {
    const { id, email } = await account({ email_verified: false });
    const identity = { provider: 'oidc', issuer: 'https://o.example', subject: newId() } as const;
    await transaction(pages.database, (tx) =>
      linkProvider(tx, id, { ...identity, email, email_verified: false, display_name: null }, () => null),
    );
    await pair(id);
    await complete(await resetLink(email));
    expect((await findUser(pages.database.db, id))!.email_verified_at).not.toBeNull();
    const { rows } = await pages.database.pool.query('select 1 from oauth_accounts where user_id = $1', [id]);
    expect([rows, await pairings(id)]).toEqual([[], 0]);

    await mails();
    const squatted = await account({ email_verified: false });
    const { browser } = await login(squatted.email);
    const { body } = await browser.api('post', '/api/me/second-factors/totp');
    await browser.api('post', '/api/me/second-factors/totp/confirm', { code: totpCode(body.secret) });
    await ask(squatted.email);
    expect((await answered())[0]!.body).toContain('never confirmed');
  });

  it.each([
    [
      'the password is changed',
      (b: Browser) =>
        b.api('post', '/api/me/change-password', {
          current_password: password,
          new_password: 'another fine one',
        }),
    ],
    ['other sessions are ended', (b: Browser) => b.api('delete', '/api/me/sessions')],
  ])('has a link that ends when %s', async (_what, act) => {
    const { email } = await account();
    const { browser } = await login(email);
    const token = await resetLink(email);
    expect((await act(browser)).status).toBeLessThan(300);
    expect((await complete(token)).status).toBe(404);
  });

  it('has a link for half an hour, which lies nowhere in clear; a request whose job was lost is offered again', async () => {
    const { email } = await account();
    await ask(email);
    await pages.database.pool.query(`delete from pgboss.job where name = 'answer-password-reset'`);
    await pages.database.pool.query(`update account_mails set created_at = now() - interval '2 minutes'`);
    await transaction(pages.database, (tx) => sweepPasswordResets(tx));
    const jobs = await queuedJobs(pages.database.db, 'answer-password-reset');
    const work = () =>
      transaction(pages.database, (tx) => answerPasswordReset(tx, String(jobs[0]!.request_id), mailing));
    await work();
    const { rows } = await pages.database.pool.query('select * from outgoing_messages, account_links');
    // Doing it twice still sends one mail.
    await work();
    const sent = await answered();
    expect(sent).toHaveLength(1);
    const token = linkFor(sent, email);
    expect(JSON.stringify(rows)).not.toContain(token);
    await pages.database.pool.query(
      `update account_links set expires_at = now() - interval '1 second' where email = $1`,
      [email],
    );
    expect((await complete(token)).status).toBe(404);
  });

  it('where no mail is set up: the page says who helps, the API answers 409, the login page has no link', async () => {
    const browser = new Browser(mailless.app);
    expect((await browser.get('/forgot-password')).text).toContain('administrator');
    expect((await ask('ada@example.com', mailless)).status).toBe(409);
    expect((await browser.get('/login')).text).not.toContain('/forgot-password');
    expect((await new Browser(pages.app).get('/login')).text).toContain('/forgot-password');
  });

  it('refuses a form of another site', async () => {
    const headers = { 'Sec-Fetch-Site': 'cross-site' };
    for (const path of ['/forgot-password', '/reset-password'])
      expect((await new Browser(pages.app).post(path, {}, headers)).status).toBe(403);
  });
});

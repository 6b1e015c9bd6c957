/** Second factors, sessions and the security log, as seen by a browser. */
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addMember,
  createCompany,
  createInvite,
  createUser,
  hashPassword,
  putSetting,
  clearSetting,
  systemActor,
} from '@acp/core';
import { transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { SoftwareAuthenticator, totpCode, waitFor } from '@acp/testkit';
import request from 'supertest';
import { Browser, type Pages, PUBLIC_URL, startPages } from './pages.ts';

const password = 'a right password';
const director = systemActor('tests');
const FACTORS = '/api/me/second-factors';

let pages: Pages;
beforeAll(async () => {
  pages = await startPages({ SERVICE_ENCRYPTION_KEY: Buffer.alloc(32, 5).toString('hex') });
});

async function account(instance_role: 'admin' | 'member' = 'member') {
  const email = `${newId()}@example.com`;
  const password_hash = await hashPassword(password);
  const { id } = await transaction(pages.database, (tx) =>
    createUser(tx, { email, display_name: 'A User', password_hash, instance_role }),
  );
  return { id, email };
}

async function login(email: string, next = '/companies') {
  const browser = new Browser(pages.app);
  const answer = await browser.post('/login', { email, password, next });
  return { browser, answer };
}

const signedIn = async (browser: Browser) => (await browser.api('get', '/api/me')).status === 200;

/** A user with an app; `nextCode` returns a code that has not been used yet. */
async function withApp(instance_role: 'admin' | 'member' = 'member') {
  const user = await account(instance_role);
  const { browser } = await login(user.email);
  const { body: begun } = await browser.api('post', `${FACTORS}/totp`);
  const confirmed = await browser.api('post', `${FACTORS}/totp/confirm`, { code: totpCode(begun.secret) });
  expect(confirmed.status).toBe(200);
  const codes: string[] = confirmed.body.recovery_codes;
  /** The library's window also accepts the next step's code. */
  const nextCode = () => totpCode(begun.secret, Date.now() + 30_000);
  return { ...user, browser, secret: begun.secret as string, codes, nextCode };
}

const typed = (browser: Browser, code: string) => browser.post('/login/second-factor', { code });

describe('an authenticator app', () => {
  it('is confirmed by its first code: other sessions end, sign-ins ask for a code and go on to where they were going', async () => {
    const user = await account();
    const { browser: other } = await login(user.email);
    const { browser } = await login(user.email);
    const { status, body } = await browser.api('post', `${FACTORS}/totp`);
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
        otpauth_url: expect.stringContaining('otpauth://totp/'),
      },
    });
    expect((await login(user.email)).answer.headers.location).toBe('/companies');
    const wrong = await browser.api('post', `${FACTORS}/totp/confirm`, { code: '000000' });
    expect(wrong.status).toBe(403);
    const right = await browser.api('post', `${FACTORS}/totp/confirm`, { code: totpCode(body.secret) });
    expect(right.body.recovery_codes).toHaveLength(10);
    expect([await signedIn(browser), await signedIn(other)]).toEqual([true, false]);
    expect((await browser.api('post', `${FACTORS}/totp`)).status).toBe(409);

    const { browser: fresh, answer } = await login(user.email, '/profile?a=1');
    expect(answer.headers.location).toBe('/login/second-factor');
    expect(fresh.cookies.has('service_session')).toBe(false);
    expect((await fresh.get('/login/second-factor')).text).toContain('Code from your app');
    expect((await typed(fresh, '123456')).status).toBe(403);
    const done = await typed(fresh, totpCode(body.secret, Date.now() + 30_000));
    expect(done.headers.location).toBe('/profile?a=1');
    expect(await signedIn(fresh)).toBe(true);
  });

  it('a code is used twice, or by two at once: once', async () => {
    const { email, nextCode } = await withApp();
    const code = nextCode();
    const browsers = [(await login(email)).browser, (await login(email)).browser];
    const answers = await Promise.all(browsers.map((browser) => typed(browser, code)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 403]);
    expect((await typed((await login(email)).browser, code)).status).toBe(403);
  });

  it('a recovery code signs in once, however it is spelled; five wrong codes lock the step, for a right one too', async () => {
    const { email, codes, nextCode } = await withApp();
    const spelled = codes[0]!.toUpperCase().replaceAll('-', ' ');
    expect((await typed((await login(email)).browser, spelled)).status).toBe(303);
    const { browser } = await login(email);
    for (let n = 0; n < 5; n += 1) expect((await typed(browser, codes[0]!)).status).toBe(403);
    const locked = await typed((await login(email)).browser, nextCode());
    expect(locked.status).toBe(429);
    expect(Number(locked.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('the password changes between the steps: the second one leads nowhere', async () => {
    const { id, email, nextCode } = await withApp();
    const { browser } = await login(email);
    const admin = await withApp('admin');
    const reset = { new_password: 'quite another one' };
    expect((await admin.browser.api('post', `/api/users/${id}/reset-password`, reset)).status).toBe(200);
    const { headers } = await typed(browser, nextCode());
    expect(headers.location).toBe('/login');
    expect(await signedIn(browser)).toBe(false);
  });

  it('is removed, and recovery codes are renewed, by a fresh sign-in only', async () => {
    const { id, browser, codes } = await withApp();
    const renewed = await browser.api('post', `${FACTORS}/recovery-codes`);
    expect(renewed.body.recovery_codes).not.toContain(codes[0]);
    const age = `update sessions set created_at = created_at - interval '16 minutes' where user_id = $1`;
    await pages.database.pool.query(age, [id]);
    expect((await browser.api('post', `${FACTORS}/recovery-codes`)).status).toBe(403);
    expect((await browser.api('delete', `${FACTORS}/totp`)).status).toBe(403);
    await pages.database.pool.query(age.replace('created_at -', 'created_at +'), [id]);
    expect((await browser.api('delete', `${FACTORS}/totp`)).status).toBe(204);
    expect((await browser.api('get', FACTORS)).body).toMatchObject({ totp: false, recovery_codes_left: 0 });
  });

  it('everything is lost: an instance admin resets it for others, and not for oneself', async () => {
    const lost = await withApp();
    const admin = await withApp('admin');
    const reset = (id: string) => admin.browser.api('post', `/api/users/${id}/reset-second-factor`);
    expect((await reset(lost.id)).status).toBe(200);
    expect((await reset(admin.id)).status).toBe(409);
    expect(await signedIn(lost.browser)).toBe(false);
    expect((await login(lost.email)).answer.headers.location).toBe('/companies');
    expect((await lost.browser.api('post', `/api/users/${admin.id}/reset-second-factor`)).status).toBe(401);
  });

  it('nothing of it lies in the database in clear', async () => {
    const { id, secret, codes } = await withApp();
    const { rows } = await pages.database.pool.query(
      `select (select row_to_json(t)::text from user_totp t where user_id = $1) as app,
        (select json_agg(r)::text from recovery_codes r where user_id = $1) as codes`,
      [id],
    );
    expect(JSON.stringify(rows)).not.toContain(secret);
    for (const code of codes) expect(JSON.stringify(rows)).not.toContain(code.replaceAll('-', ''));
  });
});

describe('a passkey', () => {
  async function withPasskey() {
    const user = await account();
    const { browser } = await login(user.email);
    const device = new SoftwareAuthenticator(PUBLIC_URL);
    const { body: options } = await browser.api('post', '/api/me/passkeys/options');
    const added = await browser.api('post', '/api/me/passkeys', {
      name: 'Laptop',
      response: device.create(options),
    });
    return { ...user, browser, device, added, options };
  }
  const ask = async (browser: Browser, next = '/companies') =>
    (await browser.api('post', '/login/passkey/options', { next })).body;
  /** Like `api`, but keeps the cookies. */
  async function byPasskey(
    browser: Browser,
    device: SoftwareAuthenticator,
    options?: Parameters<SoftwareAuthenticator['get']>[0],
  ) {
    const asked = await browser.json('/login/passkey/options', { next: '/profile' });
    return browser.json('/login/passkey', device.get(options ?? asked.body));
  }

  it('is added: recovery codes are shown; it signs in by itself, to where the browser was going', async () => {
    const { id, device, added } = await withPasskey();
    expect(added.status).toBe(201);
    expect(added.body).toMatchObject({ passkey: { name: 'Laptop', last_used_at: null } });
    expect(added.body.recovery_codes).toHaveLength(10);
    const browser = new Browser(pages.app);
    const { status, body } = await byPasskey(browser, device);
    expect({ status, body }).toEqual({ status: 200, body: { next: '/profile' } });
    expect((await browser.api('get', '/api/me')).body).toMatchObject({ id });
    const [passkey] = (await browser.api('get', FACTORS)).body.passkeys;
    expect(passkey.last_used_at).toEqual(expect.any(String));
  });

  it('is the second step after the password, without PIN or finger; by itself it needs one', async () => {
    const { email, device } = await withPasskey();
    device.verifies_user = false;
    expect((await byPasskey(new Browser(pages.app), device)).status).toBe(403);
    const { browser, answer } = await login(email);
    expect(answer.headers.location).toBe('/login/second-factor');
    const { text: step } = await browser.get('/login/second-factor');
    expect(step).toMatch(/<button[^>]* autofocus[^>]*>\s*Use a passkey/);
    expect(step.indexOf('Use a passkey')).toBeLessThan(step.indexOf('Recovery code'));
    expect((await byPasskey(browser, device)).status).toBe(200);
    expect(await signedIn(browser)).toBe(true);
  });

  it('another’s passkey answers the second step: 403', async () => {
    const { email } = await withPasskey();
    const stranger = await withPasskey();
    const { browser } = await login(email);
    expect((await byPasskey(browser, stranger.device)).status).toBe(403);
    expect(await signedIn(browser)).toBe(false);
  });

  it.each<[string, (device: SoftwareAuthenticator) => void]>([
    ['comes from another origin', (device) => (device.origin = 'https://evil.example')],
    ['was copied: its counter stands still', (device) => (device.counter -= 2)],
  ])('the answer %s: 403 without a session', async (_what, spoil) => {
    const { device } = await withPasskey();
    expect((await byPasskey(new Browser(pages.app), device)).status).toBe(200);
    expect((await byPasskey(new Browser(pages.app), device)).status).toBe(200);
    spoil(device);
    const browser = new Browser(pages.app);
    expect((await byPasskey(browser, device)).status).toBe(403);
    expect(browser.cookies.has('service_session')).toBe(false);
  });

  it('an answer is sent a second time, or to another challenge: refused', async () => {
    const { device } = await withPasskey();
    const browser = new Browser(pages.app);
    const { body: options } = await browser.json('/login/passkey/options', {});
    const answer = device.get(options);
    const step = browser.cookies.get('service_sign_in')!;
    expect((await browser.json('/login/passkey', answer)).status).toBe(200);
    const replay = new Browser(pages.app);
    replay.cookies.set('service_sign_in', step);
    expect((await replay.json('/login/passkey', answer)).status).toBe(401);
    expect((await byPasskey(new Browser(pages.app), device, options)).status).toBe(403);
  });

  it('is added with an answer to nothing, to another challenge, or a second time: refused', async () => {
    const { browser, device, options } = await withPasskey();
    const add = async (response: object) =>
      (await browser.api('post', '/api/me/passkeys', { name: 'Again', response })).status;
    expect(await add(device.create(options))).toBe(403);
    await browser.api('post', '/api/me/passkeys/options');
    expect(await add(device.create(options))).toBe(403);
    const { body: fresh } = await browser.api('post', '/api/me/passkeys/options');
    expect(await add(device.create(fresh))).toBe(409);
  });

  it('is removed: it signs in no more; another’s is 404', async () => {
    const { browser, device, added } = await withPasskey();
    const stranger = await withPasskey();
    const path = `/api/me/passkeys/${added.body.passkey.id}`;
    expect((await stranger.browser.api('delete', path)).status).toBe(404);
    expect((await browser.api('delete', path)).status).toBe(204);
    expect((await byPasskey(new Browser(pages.app), device)).status).toBe(403);
    expect(await ask(new Browser(pages.app))).toMatchObject({ userVerification: 'required' });
  });
});

describe('a second factor is required', () => {
  beforeEach(async () => transaction(pages.database, (tx) => clearSetting(tx, 'require_second_factor')));

  it('by the instance: a session without one sets one up, and does nothing else until then', async () => {
    const admin = await withApp('admin');
    const { email } = await account();
    const { browser } = await login(email);
    expect((await browser.get('/companies')).status).toBe(200);
    const set = await admin.browser.api('patch', '/api/instance-settings', { require_second_factor: true });
    expect(set.status).toBe(200);
    expect((await browser.get('/companies')).headers.location).toBe('/profile/security');
    expect((await browser.get('/profile/security')).text).toContain('A second factor is required');
    expect((await browser.api('patch', '/api/me', { display_name: 'X' })).status).toBe(403);
    const { company_id, token } = await transaction(pages.database, async (tx) => {
      const { id } = await createCompany(tx, director, { name: 'C', slug: `c-${newId()}` });
      return createInvite(tx, director, id, { role: 'member' });
    });
    expect((await browser.post(`/invites/${token}`, { accept: 'yes' })).status).toBe(403);
    const members = await admin.browser.api('get', `/api/companies/${company_id}/members`);
    expect(members.body).toEqual([]);
    const { body } = await browser.api('post', `${FACTORS}/totp`);
    await browser.post('/profile/security/totp/confirm', { code: totpCode(body.secret) });
    expect((await browser.get('/companies')).status).toBe(200);
    expect((await browser.api('delete', `${FACTORS}/totp`)).status).toBe(409);
    await transaction(pages.database, (tx) => clearSetting(tx, 'require_second_factor'));
  });

  it('by a company: of its members and of instance admins, nobody else', async () => {
    const [member, stranger] = [await account(), await account()];
    const admin = await account('admin');
    const company = await transaction(pages.database, async (tx) => {
      const slug = `c-${newId()}`;
      const made = await createCompany(tx, director, { name: slug, slug });
      await addMember(tx, director, made.id, { user_id: member.id, role: 'admin' });
      return made;
    });
    const { browser } = await login(member.email);
    const path = `/api/companies/${company.id}`;
    expect((await browser.api('patch', path, { require_second_factor: true })).body).toMatchObject({
      require_second_factor: true,
    });
    expect((await browser.api('get', `${path}/members`)).status).toBe(403);
    expect((await (await login(admin.email)).browser.api('get', `${path}/members`)).status).toBe(403);
    expect((await (await login(stranger.email)).browser.get('/companies')).status).toBe(200);
    await pages.database.pool.query('update companies set require_second_factor = false where id = $1', [
      company.id,
    ]);
  });
});

describe('where no second factor can be set up', () => {
  it('none can be required, by a company or by the instance: it would lock out everyone', async () => {
    const bare = await startPages({ SERVICE_PUBLIC_URL: 'http://192.0.2.7:3100' });
    const [admin, owner] = [await account('admin'), await account()];
    const company = await transaction(bare.database, async (tx) => {
      const made = await createCompany(tx, director, { name: 'C', slug: `c-${newId()}` });
      await addMember(tx, director, made.id, { user_id: owner.id, role: 'admin' });
      return made;
    });
    for (const [{ email }, path] of [
      [owner, `/api/companies/${company.id}`],
      [admin, '/api/instance-settings'],
    ] as const) {
      const browser = new Browser(bare.app);
      await browser.post('/login', { email, password });
      const refused = await browser.api('patch', path, { require_second_factor: true });
      expect([refused.status, refused.body.error]).toEqual([
        409,
        expect.stringContaining('no second factor'),
      ]);
      expect((await browser.api('patch', path, { require_second_factor: false })).status).toBe(200);
      expect((await browser.api('get', '/api/me')).status).toBe(200);
    }
  });
});

describe('sessions', () => {
  it('are listed with how and from where; one is ended from another; others’ are 404', async () => {
    const { id: user_id, email } = await account();
    const { browser } = await login(email);
    const { browser: other } = await login(email);
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    await pages.database.pool.query('update sessions set user_agent = $2 where user_id = $1', [
      user_id,
      firefox,
    ]);
    const stranger = (await login((await account()).email)).browser;
    const { body: sessions } = await browser.api('get', '/api/me/sessions');
    expect(sessions).toHaveLength(2);
    expect(sessions).toContainEqual(
      expect.objectContaining({
        current: true,
        method: 'password',
        address: expect.stringMatching(/127\.0\.0\.1$|::1$/),
      }),
    );
    const page = (await browser.get('/profile/security')).text;
    expect(page).toMatch(/>Firefox on Linux<[\s\S]*<div>Password</);
    const { id } = sessions.find((each: { current: boolean }) => !each.current);
    expect((await stranger.api('delete', `/api/me/sessions/${id}`)).status).toBe(404);
    expect((await browser.api('delete', `/api/me/sessions/${id}`)).status).toBe(204);
    expect([await signedIn(browser), await signedIn(other)]).toEqual([true, false]);
    const { browser: third } = await login(email);
    await browser.post('/profile/security/sessions/end-others');
    expect([await signedIn(browser), await signedIn(third)]).toEqual([true, false]);
  });

  it('nobody uses one for as long as the setting says: it ends', async () => {
    const { id, email } = await account();
    const { browser } = await login(email);
    await pages.database.pool.query(
      `update sessions set last_seen_at = last_seen_at - interval '31 minutes' where user_id = $1`,
      [id],
    );
    expect(await signedIn(browser)).toBe(true);
    await transaction(pages.database, (tx) => putSetting(tx, 'session_idle_minutes', 30));
    pages.forget();
    // The request itself has recorded its use.
    const { browser: idle } = await login(email);
    await pages.database.pool.query(
      `update sessions set last_seen_at = last_seen_at - interval '31 minutes' where user_id = $1`,
      [id],
    );
    expect(await signedIn(idle)).toBe(false);
    await transaction(pages.database, (tx) => clearSetting(tx, 'session_idle_minutes'));
  });
});

describe('the security log', () => {
  it('holds sign-ins, failures and factors, for instance admins alone; CSV is no formula of a stranger', async () => {
    const admin = await withApp('admin');
    const evil = `=cmd|' /C calc'!A0-${newId()}@example.com`;
    await new Browser(pages.app).post('/login', { email: admin.email, password: 'wrong' });
    await new Browser(pages.app).post('/login', { email: evil, password: 'wrong' });
    const log = await admin.browser.api('get', `/api/instance/security-events?user_id=${admin.id}`);
    expect(log.body.map(({ kind }: { kind: string }) => kind)).toEqual(
      expect.arrayContaining(['sign_in.succeeded', 'second_factor.added', 'sign_in.failed']),
    );
    expect(JSON.stringify(log.body)).not.toContain('wrong');
    const csv = await admin.browser.api(
      'get',
      '/api/instance/security-events/export?format=csv&kind=sign_in.failed',
    );
    expect(csv.headers['content-disposition']).toMatch(/attachment; filename=security-events-.*\.csv/);
    expect(csv.text.split('\r\n')[0]).toBe(
      'created_at,kind,subject,address,user_agent,user_id,key_id,company_id,details,id',
    );
    expect(csv.text).toContain(admin.email);
    expect(csv.text).not.toMatch(/"=/);
    const lines = await admin.browser.api('get', `/api/instance/security-events/export?user_id=${admin.id}`);
    const text = lines.text ?? String(lines.body);
    for (const line of text.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ user_id: admin.id });
    const member = (await login((await account()).email)).browser;
    expect((await member.api('get', '/api/instance/security-events')).status).toBe(403);
    expect((await admin.browser.get('/admin/security?kind=sign_in.failed')).text).toContain(admin.email);
  });

  it('a key is used from a new address, or refused: told once, to the company’s admins too', async () => {
    const { email } = await account('admin');
    const { browser } = await login(email);
    const slug = `c-${newId()}`;
    const { body: company } = await browser.api('post', '/api/companies', { name: slug, slug });
    const base = `/api/companies/${company.id}`;
    const { body: key } = await browser.api('post', `${base}/board-user-keys`, {
      role: 'viewer',
      label: 'CI',
    });
    const use = (path: string) => request(pages.app).get(path).set('Authorization', `Bearer ${key.raw_key}`);
    expect((await use(`${base}/members`)).status).toBe(200);
    expect((await use(`${base}/board-user-keys`)).status).toBe(403);
    await pages.database.pool.query(
      `insert into key_addresses (key_id, address) values ($1, '203.0.113.7')`,
      [key.id],
    );
    await pages.flush();
    const kinds = async () => {
      const { body } = await browser.api('get', `${base}/security-events`);
      return body.map(({ kind, key_id }: { kind: string; key_id: string }) => [kind, key_id]);
    };
    await waitFor(async () => (await kinds()).length === 2);
    expect((await kinds()).toSorted()).toEqual([
      ['access.refused', key.id],
      ['key.new_address', key.id],
    ]);
    await use(`${base}/members`);
    await pages.flush();
    expect(await kinds()).toHaveLength(2);
    const [ui, settings] = [
      `/companies/${company.id}/settings/security`,
      `/companies/${company.id}/settings`,
    ];
    expect((await browser.get(settings)).text).toContain(`href="${ui}"`);
    const { text } = await browser.get(`${ui}?kind=key.new_address`);
    expect(text).toMatch(/Key new address<\/div>|key new address<\/div>/);
    expect(text).toContain('127.0.0.1');
    expect(text).not.toMatch(/[Aa]ccess refused<\/div>/);
    expect(text).toContain(`href="/api/companies/${company.id}/security-events/export?`);
    const csv = await browser.api('get', `${base}/security-events/export?format=csv&kind=key.new_address`);
    expect(csv.text).toContain(key.id);
    const other = (await login((await account()).email)).browser;
    expect((await other.get(ui)).status).toBe(404);
  });
});

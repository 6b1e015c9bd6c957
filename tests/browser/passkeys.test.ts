/**
 * Passkeys through the browser's own dialogue, under the pages' content security policy.
 * @in-order who signed in by a passkey sets up an app
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createUser, hashPassword } from '@acp/core';
import { transaction } from '@acp/db';
import { newId } from '@acp/kernel';
import { totpCode } from '@acp/testkit';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { startPages } from '../http/pages.ts';
import { complaintsOf, excessWidth, inBrowser, launchBrowser, seriousFaults, without } from './chromium.ts';

const password = 'a right password';

inBrowser(`sign-in in a real browser${without}`, () => {
  const server = createServer();
  const email = `${newId()}@example.com`;
  let url = '';
  let browser: Browser;
  let page: Page;
  let complaints: string[];
  const at = async (path: string) => page.waitForURL((here) => here.pathname === path);

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://localhost:${(server.address() as AddressInfo).port}`;
    const key = Buffer.alloc(32, 6).toString('hex');
    const pages = await startPages({ SERVICE_PUBLIC_URL: url, SERVICE_ENCRYPTION_KEY: key });
    server.on('request', pages.app);
    const password_hash = await hashPassword(password);
    const user = { email, display_name: 'Ada', password_hash, instance_role: 'admin' } as const;
    await transaction(pages.database, (tx) => createUser(tx, user));
    browser = await launchBrowser();
    page = await (await browser.newContext()).newPage();
    complaints = complaintsOf(page);
    const session = await page.context().newCDPSession(page);
    await session.send('WebAuthn.enable');
    const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true } as const;
    const user_there = { hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
    await session.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, ...user_there } });
  });

  afterAll(async () => {
    await browser?.close();
    server.close();
    server.closeAllConnections();
  });

  it('a user adds a passkey, keeps the recovery codes, and comes back by the passkey alone', async () => {
    await page.goto(`${url}/login?next=/profile/security`);
    await page.fill('[name=email]', email);
    await page.fill('[name=password]', password);
    await page.click('button:has-text("Sign in"):not([data-passkey])');
    await at('/profile/security');
    await page.fill('[name=name]', 'Laptop');
    const faults = complaints.length;
    const proxy = { status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' };
    await page.route('**/api/me/passkeys/options', async (route) => route.fulfill(proxy), { times: 1 });
    await page.press('[name=name]', 'Enter');
    await page.waitForSelector('[data-passkey-error]:not([hidden])');
    expect(await page.textContent('[data-passkey-error]')).toBe('The passkey could not be used.');
    complaints.splice(faults);
    await page.press('[name=name]', 'Enter');
    await page.waitForSelector('[data-recovery-codes]:not([hidden])');
    expect((await page.textContent('[data-recovery-codes] code'))!.split('\n')).toHaveLength(10);
    await page.click('text=I have saved them');
    await page.waitForSelector('td:has-text("Laptop")');
    expect(await seriousFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await excessWidth(page)).toBe(0);
    await page.click('text=Sign out >> nth=0');
    await at('/login');
    await page.goto(`${url}/login?next=/profile`);
    await page.click('[data-passkey=sign-in]');
    const refused = page.locator('[data-passkey-error]:not([hidden])');
    const ended = await Promise.race([at('/profile'), refused.textContent().catch(() => null)]);
    expect(ended).toBeUndefined();
    expect(complaints).toEqual([]);
  });

  it('sets up an app by its QR code and secret; the log shows both sign-ins', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${url}/profile/security`);
    await page.click('button:has-text("Set up an app")');
    const image = page.locator('img[alt^="QR code"]');
    expect(
      await image.evaluate((each) => (each as unknown as { naturalWidth: number }).naturalWidth),
    ).toBeGreaterThan(0);
    const secret = (await page.textContent('img[alt^="QR code"] >> xpath=../following-sibling::p[1]/code'))!;
    await page.fill('[name=code]', totpCode(secret.replaceAll(' ', '')));
    await page.click('button:has-text("Confirm")');
    await page.waitForSelector('text=An app is set up');
    await page.goto(`${url}/admin/security?kind=sign_in.succeeded`);
    expect(await page.locator('tbody tr', { hasText: email }).count()).toBe(2);
    expect(await seriousFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

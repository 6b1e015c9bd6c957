/** The fleet's page stays up to date while it is open, and fits a phone. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cloneDatabase, type ServiceProcess, startService, waitFor } from '@acp/testkit';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { complaintsOf, excessWidth, inBrowser, launchBrowser, without } from './chromium.ts';

const account = { email: 'ada@example.com', password: 'correct horse battery' };

inBrowser(`the fleet’s page${without}`, () => {
  let service: ServiceProcess;
  let browser: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    const { url: DATABASE_URL } = await cloneDatabase('fleet_page');
    service = await startService({
      DATABASE_URL,
      SERVICE_BOOTSTRAP_ADMIN_EMAIL: account.email,
      SERVICE_BOOTSTRAP_ADMIN_PASSWORD: account.password,
      SERVICE_REQUIRE_WORKER_APPROVAL: 'true',
    });
    browser = await launchBrowser();
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, baseURL: service.url });
    await context.request.post('/login', { form: account });
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  const shows = async (page: Page, text: string) =>
    waitFor(async () => (await page.textContent('main'))?.includes(text), { what: text });

  it('shows a worker as it registers, is approved and drains, also on a phone with long names', async () => {
    const page = await context.newPage();
    const complaints = complaintsOf(page);
    await page.goto('/admin/workers');
    await shows(page, 'No worker has registered');
    const name = 'build-host-with-a-rather-long-name.internal.example.com';
    const tags = ['linux', 'very-long-tag-of-a-machine-in-a-rack'];
    const registered = await context.request.post('/api/workers/register', { data: { name, tags } });
    const { worker_id } = (await registered.json()) as { worker_id: string };
    await shows(page, name);
    const act = async (verb: string) => context.request.post(`/api/admin/workers/${worker_id}/${verb}`);
    await act('approve');
    await shows(page, 'Drain');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.locator('summary', { hasText: 'More' }).click();
    expect(await excessWidth(page)).toBeLessThanOrEqual(0);
    const [save, remove] = await Promise.all(
      ['Save', 'Delete'].map(async (label) => page.locator(`.edit button:text-is("${label}")`).boundingBox()),
    );
    expect(remove!.y - save!.y - save!.height).toBeGreaterThanOrEqual(8);
    await act('drain');
    await shows(page, 'Undrain');
    expect(complaints).toEqual([]);
  });

  it('shows a desk all that can be done, also in German, whose words are longer', async () => {
    const german = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      baseURL: service.url,
      locale: 'de',
    });
    await german.request.post('/login', { form: account });
    const data = { name: 'gpu-rack-22.frankfurt.example.com', tags: ['gpu', 'eu-central', 'large-memory'] };
    const made = await german.request.post('/api/admin/workers', { data });
    expect(made.status()).toBe(201);
    const page = await german.newPage();
    await page.goto('/admin/workers');
    await shows(page, 'Auslaufen lassen');
    const excess = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.card:has(> table)'))`;
    expect(await page.evaluate(excess)).toBe(0);
    await german.close();
  });
});

/**
 * Every registered page on a phone, in light mode and in German: nothing too wide, nothing that axe rates serious, nothing too small
 * for a finger, and no English shown to a German reader. `every-page-on-a-desk.drill.test.ts` has the other screen.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { pathOn, type Stage } from '../http/stage.ts';
import {
  cutChoices,
  cutWords,
  englishTexts,
  excessWhenNarrow,
  excessWidth,
  inBrowser,
  nameless,
  ragged,
  seriousFaults,
  smallTargets,
  touching,
  without,
} from './chromium.ts';
import { DESK, everyPage, LABEL, PHONE, startSweep, type Sweep } from './every-page.ts';

inBrowser(`every page in a real browser${without}`, () => {
  let sweep: Sweep;
  let origin: string;
  let stage: Stage;
  let phone: Page;
  let desk: Page;
  let open: Page[];

  beforeAll(async () => {
    sweep = await startSweep();
    ({ origin, stage } = sweep);
    phone = await sweep.open(PHONE);
    desk = await sweep.open(DESK);
    open = [phone, desk];
  });

  afterAll(() => sweep?.stop());

  it.each(everyPage)(
    '%s is as wide as a phone, cuts no word, and is for everybody to use',
    async (_path, route) => {
      const answer = await phone.goto(origin + pathOn(stage, route), { waitUntil: 'load' });
      expect(answer?.status()).toBe(200);
      expect(await excessWidth(phone)).toBe(0);
      expect(await cutWords(phone)).toEqual([]);
      expect(await cutChoices(phone)).toEqual([]);
      expect(await touching(phone)).toEqual([]);
      expect(await ragged(phone)).toEqual([]);
      expect(await englishTexts(phone, sweep.written)).toEqual([]);
      expect(await smallTargets(phone)).toEqual([]);
      expect(await nameless(phone)).toEqual([]);
      expect(await excessWhenNarrow(phone)).toEqual([0, 0]);
      expect(await seriousFaults(phone)).toEqual([]);
    },
  );

  it('a routine unfolds within the window, and so does the secret of its new webhook', async () => {
    for (const [index, page] of open.entries()) {
      await page.goto(`${origin}/routines/${stage.routineId}`, { waitUntil: 'load' });
      await page.evaluate("for (const fold of document.querySelectorAll('main details')) fold.open = true");
      expect(await excessWidth(page)).toBe(0);
      expect(await seriousFaults(page)).toEqual([]);
      await page.click('form:has(#f-label-schedule) [data-cron="0 9 * * 1-5"]');
      await page.waitForSelector(
        index === 0
          ? '[data-said]:has-text("Um 09:00, Montag bis Freitag")'
          : '[data-said]:has-text("At 09:00, Monday through Friday")',
      );
      expect(await excessWidth(page)).toBe(0);
      await page.selectOption('#f-signing_mode-webhook', 'hmac_ts');
      await page.fill('#f-label-webhook', LABEL);
      await page.click('form:has(#f-signing_mode-webhook) button');
      expect(await page.textContent('.once')).toContain(
        index === 0 ? 'nur dieses eine Mal' : 'shown only once',
      );
      expect(await page.textContent('.triggers')).toContain('X-Service-Timestamp');
      expect(await excessWidth(page)).toBe(0);
      expect(await seriousFaults(page)).toEqual([]);
    }
  });

  it('the days of the costs unfold within the window', async () => {
    for (const page of open) {
      await page.goto(`${origin}/companies/${stage.companyId}/costs`, { waitUntil: 'load' });
      await page.click('main details > summary');
      expect(await page.isVisible('main details table')).toBe(true);
      expect(await excessWidth(page)).toBe(0);
      expect(await seriousFaults(page)).toEqual([]);
    }
  });

  it('the menu of a phone unfolds by keyboard, and a desk shows the sections beside the page', async () => {
    const company = `${origin}/companies/${stage.companyId}`;
    await phone.goto(company);
    expect(await phone.isVisible('.sections')).toBe(false);
    await phone.focus('.menu summary');
    await phone.keyboard.press('Enter');
    expect(await phone.isVisible('.sections a[aria-current=page]')).toBe(true);
    expect(await excessWidth(phone)).toBe(0);
    expect(await seriousFaults(phone)).toEqual([]);
    await desk.goto(company);
    expect(await desk.isVisible('.menu')).toBe(false);
    expect(await desk.textContent('.sections a[aria-current=page]')).toContain('Dashboard');
  });

  it('rare sections unfold by keyboard and by finger, and stay so on the next pages of that browser', async () => {
    const company = `${origin}/companies/${stage.companyId}`;
    const fold = '[data-section=integrations]';
    for (const page of [phone, desk]) {
      const unfold = async (): Promise<void> => {
        await page.waitForSelector('html[data-script=ready]');
        if (page === phone) await page.tap('.menu summary');
        if (page === phone) return page.tap(`${fold} summary`);
        await page.focus(`${fold} summary`);
        return page.keyboard.press('Enter');
      };
      // What a page unfolds by itself is not remembered.
      await page.goto(`${company}/webhooks`);
      await page.goto(company);
      expect(await page.getAttribute(fold, 'open')).toBeNull();
      await unfold();
      expect(await page.isVisible(`${fold} a`)).toBe(true);
      expect(page === phone ? await smallTargets(page) : []).toEqual([]);
      expect(await seriousFaults(page)).toEqual([]);
      await page.goto(`${company}/board`);
      expect(await page.getAttribute(fold, 'open')).toBe('');
      await unfold();
      await page.goto(company);
      expect(await page.getAttribute(fold, 'open')).toBeNull();
    }
  });

  it('sections unfold without script', async () => {
    const context = await sweep.browser.newContext({ javaScriptEnabled: false });
    await context.addCookies(await desk.context().cookies());
    const page = await context.newPage();
    await page.goto(`${origin}/companies/${stage.companyId}`);
    await page.click('[data-section=integrations] summary');
    await page.click('[data-section=integrations] a >> text=Webhooks');
    expect(await page.isVisible('[data-section=integrations] a[aria-current=page]')).toBe(true);
    await context.close();
  });
});

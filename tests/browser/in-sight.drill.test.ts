/** What one needs is in sight: bars at the edge of the window, what has the focus, long titles, and that a form is on its way. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import type { Page } from 'playwright-core';
import type { Cast } from '../http/cast.ts';
import { excessWidth, inBrowser, seriousFaults, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

const LONG = `${'Measure where people leave, and ask five of them why. '.repeat(8)}${'x'.repeat(120)}`;

inBrowser(`in sight${without}`, () => {
  let shown: Shown;
  let page: Page;
  let cast: Cast;
  let issue: string;

  beforeAll(async () => {
    shown = await showPages();
    const { database, origin } = shown;
    ({ cast } = shown);
    await transaction(database, async (tx) => {
      const director = systemActor('tests');
      for (let index = 0; index < 40; index++) {
        const title = index === 39 ? LONG : `Sweep the shop ${index}`;
        ({ id: issue } = await createIssue(tx, director, cast.company_id, { title, status: 'todo' }));
      }
    });
    const context = await shown.windowOf(cast.admin, { viewport: { width: 1280, height: 800 } });
    for (let index = 0; index < 12; index++) {
      const form = { body_markdown: `Said for the ${index}th time.\n\n- at\n- some\n- length` };
      await context.request.post(`/issues/${issue}/comments`, { form, headers: { origin } });
    }
    page = await context.newPage();
  });

  afterAll(() => shown?.close());

  const open = async (path: string): Promise<void> => {
    await page.goto(path);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
  };

  it.each([
    [1280, 800],
    [390, 844],
  ])('what can be done with chosen issues, as soon as one is, %d pixels wide', async (width, height) => {
    await page.setViewportSize({ width, height });
    await open(`/companies/${cast.company_id}/issues?all=yes`);
    await page.click('tbody tr:nth-child(3) [name=issue]');
    const { y, height: tall } = (await page.locator('[data-bulk]').boundingBox())!;
    const isPhone = width < 1000;
    const most = isPhone ? height / 5 : height / 2;
    expect([y + tall <= height, tall < most, await excessWidth(page)]).toEqual([true, true, 0]);
    const inSight = await page.evaluate<number>(
      `[...document.querySelectorAll('tbody tr')].filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length`,
    );
    expect(inSight).toBeGreaterThanOrEqual(5);
    const chosen = async () => page.locator('tbody [name=issue]:checked').count();
    await page.click('[data-choose=all]');
    expect(await chosen()).toBe(40);
    await page.click('[data-choose=none]');
    expect([await chosen(), await page.locator('[data-bulk]').isVisible()]).toEqual([0, false]);
    await page.click('tbody tr:nth-child(3) [name=issue]');
    if (isPhone) await page.click('.bulk-more summary');
    await page.selectOption('#f-bulk-priority', width > 1000 ? 'critical' : 'low');
    await page.click('[data-bulk] .row button:not(.danger)');
    await page.waitForSelector('[data-toast]:has-text("1 issue changed")');
  });

  it('the list and the board around a long title, which a pointer can read', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await open(`/companies/${cast.company_id}/issues?all=yes`);
    const row = page.locator('tr:has(.issue-title[title^="Measure"])');
    expect((await row.boundingBox())!.height).toBeLessThan(70);
    await open(`/companies/${cast.company_id}/board?q=Measure`);
    const card = page.locator('.issue-card:has([title^="Measure"])');
    expect((await card.boundingBox())!.height).toBeLessThan(140);
    const columns = await page.evaluate<number[]>(
      `[...document.querySelectorAll('.board-column:not([data-empty])')].map((each) => each.offsetWidth)`,
    );
    expect(Math.min(...columns)).toBeGreaterThanOrEqual(176);
    expect(await excessWidth(page)).toBe(0);
  });

  it('what the keyboard reaches above the composer', async () => {
    await open(`/issues/${issue}`);
    await page.focus('h1 ~ *, .comment a');
    const hidden: string[] = [];
    for (let step = 0; step < 40; step++) {
      await page.keyboard.press('Tab');
      const below = await page.evaluate<string | null>(`(() => {
        const { activeElement } = document;
        const composer = document.querySelector('.dock');
        if (activeElement.closest('.comment') === null) return null;
        const under = activeElement.getBoundingClientRect().bottom > composer.getBoundingClientRect().top;
        return under ? activeElement.outerHTML : null;
      })()`);
      if (below !== null) hidden.push(below);
    }
    expect(hidden).toEqual([]);
  });

  it.each([
    [1280, 800],
    [390, 844],
  ])(
    'the conversation, above one line to write in until somebody does, %d pixels wide',
    async (width, height) => {
      await page.setViewportSize({ width, height });
      await open(`/issues/${issue}`);
      const dock = page.locator('.dock');
      const tall = async () => (await dock.boundingBox())!.height;
      expect([(await tall()) < 90, await excessWidth(page)]).toEqual([true, 0]);
      await page.focus('#f-comment');
      expect(await tall()).toBeGreaterThan(120);
      await page.fill('#f-comment', 'Typed');
      await page.locator('h1').click();
      expect(await tall()).toBeGreaterThan(120);
      await page.fill('#f-comment', '');
      // A press at the end of the page, on what would move with the composer.
      await page.focus('#f-comment');
      await page.evaluate('scrollTo(0, 1e6)');
      await page.locator('.comment [data-quote]').last().click();
      expect(await page.inputValue('#f-comment')).toContain('> Said for the 11th time.');
      await page.fill('#f-comment', '');
      const { y } = (await page.locator('#properties').boundingBox())!;
      // Beside what is read on a desk; below it on a phone.
      expect(y > 50 && (width < 1000 || y < 200)).toBe(true);
      await page.click('[data-fold=edit] > summary');
      expect(await page.evaluate('getComputedStyle(document.querySelector(".dock")).position')).toBe(
        'static',
      );
    },
  );

  it.each([
    [1280, 800],
    [390, 844],
  ])(
    'what a note asks to press again, until the note is closed or no longer true, %d pixels wide',
    async (width, height) => {
      await page.setViewportSize({ width, height });
      await open(`/issues/${issue}`);
      await page.evaluate("document.dispatchEvent(new CustomEvent('live-closed'))");
      await page.route('**/healthz', async (route) => route.abort());
      const button = page.locator('.comment-form > button:not([type])');
      const note = page.locator('[data-toast]:has-text("Nothing was sent")');
      const presses = async (): Promise<void> => {
        await page.fill('#f-comment', 'Said while it was away');
        await button.click();
        await note.waitFor();
      };
      await presses();
      expect([await excessWidth(page), await seriousFaults(page)]).toEqual([0, []]);
      await page.click('[data-close-toast]');
      expect(await note.count()).toBe(0);
      await presses();
      await button.click({ trial: true });
      await page.unroute('**/healthz');
      await note.waitFor({ state: 'detached' });
    },
  );

  it('the place where somebody acts, and the next row if the one that was there is gone', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await open(`/companies/${cast.company_id}/inbox`);
    await page.click('details[data-fold=Unread] > summary');
    const rows = page.locator('details[data-fold=Unread] li a');
    await rows.nth(8).focus();
    const topOf = async (): Promise<number> =>
      page.evaluate('document.activeElement.getBoundingClientRect().top');
    const [next, top] = [await rows.nth(9).getAttribute('href'), await topOf()];
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('e')]);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toBe(next);
    expect(Math.abs((await topOf()) - top)).toBeLessThan(4);

    await open(`/issues/${issue}`);
    const comment = page.locator('.comment').nth(7);
    await comment.locator('.react > summary').click();
    await Promise.all([
      page.waitForResponse('**/reactions/**'),
      comment.locator('.react button').first().click(),
    ]);
    expect(await comment.locator('.react[open]').count()).toBe(0);
    const pin = comment.locator('form[action$="/pin"] button');
    await pin.scrollIntoViewIfNeeded();
    const before = (await pin.boundingBox())!.y;
    const id = await comment.getAttribute('id');
    await Promise.all([page.waitForEvent('load'), pin.click()]);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    expect(await page.evaluate('document.activeElement.closest(".comment").id')).toBe(id);
    expect(Math.abs((await topOf()) - before)).toBeLessThan(4);
  });

  it('that a form is on its way, until the browser is back', async () => {
    await open(`/issues/${issue}`);
    let sent = 0;
    // The page stays, as it does while an answer is long in coming.
    await page.route('**/comments', async (route) => {
      sent += 1;
      await route.fulfill({ status: 204 });
    });
    const button = page.locator('.comment-form > button:not([type])');
    await page.fill('#f-comment', 'Said slowly');
    await button.click();
    await page.waitForSelector('.comment-form > button[aria-busy=true]:disabled');
    await page.evaluate('dispatchEvent(new PageTransitionEvent("pageshow", { persisted: false }))');
    expect([sent, await button.isEnabled(), await button.getAttribute('aria-busy')]).toEqual([1, true, null]);
    await page.unroute('**/comments');
  });

  it('that a file is being made, until it is saved, and a preview, until it is there', async () => {
    const other = await page.context().newPage();
    await other.clock.install();
    await other.goto(`/companies/${cast.company_id}/portability`);
    await other.waitForSelector('[data-script=ready]', { state: 'attached' });
    const [file, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await other.route('**/export?*', async (route) => {
      await file.promise;
      await route.continue();
    });
    await other.route('**/import', async (route) => {
      await answer.promise;
      await route.continue();
    });
    const saved = other.waitForEvent('download');
    await other.click('[data-download] button');
    await other.waitForSelector('[data-download] button[aria-busy=true]:disabled');
    await other.clock.fastForward(30_000);
    expect(await other.locator('[data-download] button').isEnabled()).toBe(false);
    file.resolve();
    expect((await saved).suggestedFilename()).toMatch(/\.json$/);
    await other.waitForSelector('[data-download] button:enabled:not([aria-busy])');
    await other.waitForSelector('[data-toast]:has-text(".json")');
    const toasts = other.locator('[data-toast]');
    await other.click('[data-close-toast]');
    const cookies = await other.context().cookies();
    await other.context().clearCookies();
    await other.click('[data-download] button');
    await other.waitForSelector('.offline:has-text("You are signed out")');
    expect(await toasts.count()).toBe(0);
    await other.context().addCookies(cookies);

    const bundle = { name: 'team.json', mimeType: 'application/json', buffer: Buffer.from('{}') };
    await other.setInputFiles('[data-preview] input[type=file]', [bundle]);
    await other.click('[data-preview] button[value=preview]');
    await other.waitForSelector('[data-preview] button[value=preview][aria-busy=true]:disabled');
    expect(await other.locator('[data-preview] button[value=import]').isEnabled()).toBe(false);
    answer.resolve();
    await other.waitForSelector('[data-preview] button[value=preview]:enabled:not([aria-busy])');
    expect(await other.locator('[data-preview] button[value=import]').isEnabled()).toBe(true);
    expect(await other.textContent('#outcome')).not.toBe('');
    expect(await other.evaluate('document.activeElement.id')).toBe('outcome');
    await other.close();
  });

  it('the page again after one Escape, whatever was typed into the search', async () => {
    await open(`/companies/${cast.company_id}`);
    await page.keyboard.press('Control+k');
    await page.waitForSelector('.palette[open]');
    await page.keyboard.type('shop');
    await page.keyboard.press('Escape');
    expect(await page.locator('.palette').isVisible()).toBe(false);
  });

  it('on paper what was said, and nothing that can be pressed or lies above a text', async () => {
    await open(`/issues/${issue}`);
    const visible = async (): Promise<string[]> =>
      page.evaluate<string[]>(
        `['.top', '.side', '.comment-form', 'main button', '.comment'].filter((each) => [...document.querySelectorAll(each)].some((part) => part.checkVisibility()))`,
      );
    expect(await visible()).toEqual(['.top', '.side', '.comment-form', 'main button', '.comment']);
    await page.emulateMedia({ media: 'print' });
    expect(await visible()).toEqual(['.comment']);
    const fixed = await page.evaluate<string[]>(
      `[...document.querySelectorAll('main *')].filter((each) => each.checkVisibility() && /sticky|fixed/.test(getComputedStyle(each).position)).map((each) => each.outerHTML.slice(0, 100))`,
    );
    expect(fixed).toEqual([]);
    await page.emulateMedia({ media: 'screen' });
  });
});

/** The list of issues under somebody's hands, while others change, add and delete what it lists. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import type { BrowserContext, Page } from 'playwright-core';
import type { Cast } from '../http/cast.ts';
import { complaintsOf, inBrowser, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

inBrowser(`the list of issues${without}`, () => {
  let shown: Shown;
  let context: BrowserContext;
  let cast: Cast;
  let page: Page;
  const complaints: string[] = [];
  /** As they are listed. */
  let ids: string[];

  beforeAll(async () => {
    shown = await showPages();
    ({ cast } = shown);
    context = await shown.windowOf(cast.member);
  });

  beforeEach(async () => {
    await page?.close();
    for (let made = 0; made < 8; made++) await newIssue();
    page = await context.newPage();
    complaintsOf(page, complaints);
    await page.goto(list());
    await ready();
    ids = await page.evaluate<string[]>(
      '[...document.querySelectorAll("tr[data-issue]")].map(({ dataset }) => dataset.issue)',
    );
  });

  afterAll(() => shown?.close());

  const list = () => `/companies/${cast.company_id}/issues`;
  const ready = async () => page.waitForSelector('[data-script=ready]', { state: 'attached' });
  const newIssue = async (): Promise<void> => {
    const made = await context.request.post(`/api/companies/${cast.company_id}/issues`, {
      data: { title: 'Listed' },
    });
    expect(made.status()).toBe(201);
  };
  const row = (at: number) => `tr[data-issue="${ids[at]}"]`;
  const box = (at: number) => `${row(at)} [data-pick]`;
  const happens = async (type: string, at: number): Promise<void> => {
    const detail = JSON.stringify({ topics: [], type, data: { id: ids[at] } });
    await page.evaluate(`document.dispatchEvent(new CustomEvent('live', { detail: ${detail} }))`);
  };
  const rename = async (at: number, title: string): Promise<void> => {
    await context.request.patch(`/api/issues/${ids[at]}`, { data: { title } });
    await happens('issue_updated', at);
  };
  const chosen = async (): Promise<string[]> =>
    page.evaluate<string[]>(
      '[...document.querySelectorAll("[data-pick]:checked")].map(({ value }) => value)',
    );

  it('keeps the focus on the box of a row that is renewed, and the stretch that the shift key chooses from there', async () => {
    await page.check(box(2));
    await rename(2, 'Renamed');
    await page.waitForSelector(`${row(2)} :text("Renamed")`);
    expect(await page.evaluate('document.activeElement.value')).toBe(ids[2]);
    await page.keyboard.press('Space');
    await page.keyboard.press('Space');
    await rename(2, 'Renamed again');
    await page.waitForSelector(`${row(2)} :text("Renamed again")`);
    await page.click(box(5), { modifiers: ['Shift'] });
    expect(await chosen()).toEqual(ids.slice(2, 6));
  });

  it('takes a press of the pointer for what it began on, although its row is renewed meanwhile', async () => {
    await page.hover(box(3));
    await page.mouse.down();
    const answered = page.waitForResponse('**/issues/part/rows*');
    await rename(3, 'Renamed');
    await (await answered).finished();
    await page.evaluate('new Promise(requestAnimationFrame).then(() => null)');
    await page.mouse.up();
    await page.waitForSelector(`${row(3)} :text("Renamed")`);
    expect(await chosen()).toEqual([ids[3]]);
  });

  it('leaves the other rows where they are when one is deleted, which cannot be chosen any more', async () => {
    for (const at of [1, 4]) await page.check(box(at));
    const before = (await page.locator(row(4)).boundingBox())!.y;
    await page.focus(box(1));
    await context.request.delete(`/api/issues/${ids[1]}`);
    await happens('issue_deleted', 1);
    await page.waitForSelector(`${row(1)}[inert]`);
    expect((await page.locator(row(4)).boundingBox())!.y).toBe(before);
    expect(await chosen()).toEqual([ids[4]]);
    expect(await page.innerText('[data-bulk]')).toContain('1 selected');
    expect(await page.evaluate('document.activeElement.closest("tr").dataset.issue')).toBe(ids[2]);
    await page.keyboard.press('k');
    expect(await page.evaluate('document.activeElement.dataset.issue')).toBe(ids[0]);
  });

  it('has the same rows chosen when somebody comes back to it, although another has come above them', async () => {
    for (const at of [1, 3]) await page.check(box(at));
    await page.click(`${row(2)} .issue-title`);
    await page.waitForURL(/\/issues\/[0-9a-f-]{36}$/);
    await newIssue();
    await page.goBack();
    await ready();
    await waitFor(async () => (await chosen()).length > 0);
    expect(await chosen()).toEqual([ids[1], ids[3]]);
    expect(await page.innerText('[data-bulk]')).toContain('2 selected');
    // Who goes there anew has chosen nothing.
    await page.goto(list());
    await ready();
    expect(await chosen()).toEqual([]);
  });

  it('leaves a cell that somebody began to edit by Escape, and does not take the focus from the next one', async () => {
    await page.click(`${row(1)} [data-edit=status]`);
    // The first one may only close the list of choices.
    await waitFor(async () => {
      await page.keyboard.press('Escape');
      return (await page.locator(`${row(1)} select`).count()) === 0;
    });
    const answer = Promise.withResolvers<void>();
    await page.route('**/properties', async (route) => {
      await answer.promise;
      await route.continue();
    });
    await page.click(`${row(1)} [data-edit=status]`);
    await page.selectOption(`${row(1)} select`, 'blocked');
    await page.click(`${row(2)} [data-edit=status]`);
    answer.resolve();
    await page.waitForSelector(`${row(1)} [data-edit=status][data-value=blocked]`);
    expect(await page.evaluate('document.activeElement.closest("tr").dataset.issue')).toBe(ids[2]);
    expect(await page.locator(`${row(2)} select`).count()).toBe(1);
    expect(complaints).toEqual([]);
  });
});

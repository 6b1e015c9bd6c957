/** Lists that are filtered while one types. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import type { Page } from 'playwright-core';
import type { Cast } from '../http/cast.ts';
import { inBrowser, seriousFaults, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

inBrowser(`what is typed into a search field${without}`, () => {
  let shown: Shown;
  let database: Database;
  let page: Page;
  let cast: Cast;
  /** Errors of scripts on the page. */
  const thrown: string[] = [];

  beforeAll(async () => {
    shown = await showPages();
    ({ database, cast } = shown);
    await transaction(database, async (tx) => {
      const director = systemActor('tests');
      for (const title of ['Bind the books', 'Order paper', 'Sweep the shop'])
        await createIssue(tx, director, cast.company_id, { title, status: 'todo' });
    });
    await database.pool.query(
      `insert into projects (company_id, name) select $1, 'Project ' || n from generate_series(1, 30) n`,
      [cast.company_id],
    );
    const context = await shown.windowOf(cast.admin, { viewport: { width: 1280, height: 800 } });
    page = await context.newPage();
    page.on('pageerror', ({ message }) => thrown.push(message));
  });

  afterAll(() => shown?.close());

  const open = async (path: string): Promise<void> => {
    await page.goto(`/companies/${cast.company_id}${path}`);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    await page.evaluate('globalThis.first = true');
    await page.focus('main [role=search] [name=q]');
  };
  /** Whether this is still the page that was opened, what has the focus, and the words in the address. */
  const state = async (): Promise<unknown[]> => [
    ...(await page.evaluate<unknown[]>('[globalThis.first, document.activeElement.name]')),
    new URL(page.url()).searchParams.get('q'),
  ];

  it.each([
    ['/board', 'paper', '.issue-card:has-text("Order paper")', '.issue-card:has-text("Bind")'],
    ['/issues', 'paper', 'tbody tr:has-text("Order paper")', 'tbody tr:has-text("Bind")'],
    ['/agents', 'zzz', '.empty-title', 'tbody tr'],
    ['/projects', 'project 17', 'tbody tr:has-text("Project 17")', 'tbody tr:has-text("Project 18")'],
    ['/find', 'paper', '.found:has-text("Order paper")', '.found:has-text("Bind")'],
  ])('filters %s in its place, and is still there to be changed', async (path, words, found, other) => {
    await open(path);
    await page.keyboard.type(words, { delay: 5 });
    await page.waitForURL((url) => url.searchParams.get('q') === words);
    await page.waitForSelector(found);
    expect(await page.locator(other).count()).toBe(0);
    await page.keyboard.press('Enter');
    expect(await state()).toEqual([true, 'q', words]);
    expect(await seriousFaults(page)).toEqual([]);
    await page.fill('main [role=search] [name=q]', '');
    await page.waitForURL((url) => url.searchParams.get('q') === '');
    expect(await page.evaluate('globalThis.first')).toBe(true);
  });

  it('shows the answer to the words typed last, whichever comes first', async () => {
    await open('/board');
    const first = Promise.withResolvers<void>();
    await page.route(/\/board\?q=p&/, async (route) => {
      first.resolve();
      await page.waitForSelector('.issue-card:has-text("Sweep")');
      await route.continue().catch(() => undefined);
    });
    await page.keyboard.type('p');
    await first.promise;
    await page.fill('main [role=search] [name=q]', 'sweep');
    await page.waitForURL((url) => url.searchParams.get('q') === 'sweep');
    await page.unrouteAll({ behavior: 'wait' });
    expect(await page.locator('.issue-card').allTextContents()).toEqual([expect.stringContaining('Sweep')]);
  });

  it('leaves a board that moves its cards, and a list whose rows can be chosen', async () => {
    await open('/board');
    await page.keyboard.type('sweep');
    await page.waitForURL((url) => url.searchParams.get('q') === 'sweep');
    await page.focus('.issue-card');
    await page.keyboard.press('Shift+ArrowRight');
    await page.waitForSelector('#board-said:has-text("is now in progress")', { state: 'attached' });
    expect(await page.locator('[data-column=in_progress] .issue-card').count()).toBe(1);
    await open('/issues?q=nothing+like+it');
    await page.fill('main [role=search] [name=q]', 'order');
    await page.click('tbody [name=issue]');
    expect(await page.textContent('[data-chosen]')).toBe('1 selected');
    expect(thrown).toEqual([]);
  });
});

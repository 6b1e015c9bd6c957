/**
 * Keyboard use: search, lists, the composer.
 * @in-order one person goes from page to page
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createAgent, createApproval, createIssue, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { waitFor } from '@acp/testkit';
import type { Page } from 'playwright-core';
import type { Cast } from '../http/cast.ts';
import { excessWidth, inBrowser, seriousFaults, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

inBrowser(`the keyboard alone${without}`, () => {
  let shown: Shown;
  let page: Page;
  let cast: Cast;
  let issues: string;
  let grace: string;

  beforeAll(async () => {
    shown = await showPages();
    const { database } = shown;
    ({ cast } = shown);
    issues = `/companies/${cast.company_id}/issues`;
    await transaction(database, async (tx) => {
      const director = systemActor('tests');
      const made = await createAgent(tx, director, cast.company_id, { name: 'Grace Hopper' });
      grace = 'agent' in made ? made.agent.id : made.id;
      await createApproval(tx, director, cast.company_id, { type: 'plan', title: 'Paint the shop' });
      for (const title of ['Bind the books', 'Order paper', 'Sweep the shop'])
        await createIssue(tx, director, cast.company_id, { title, status: 'backlog', priority: 'low' });
    });
    const context = await shown.windowOf(cast.admin, { viewport: { width: 1280, height: 800 } });
    page = await context.newPage();
  });

  afterAll(() => shown?.close());

  const ready = async (): Promise<unknown> =>
    page.waitForSelector('[data-script=ready]', { state: 'attached' });
  const open = async (path: string): Promise<void> => {
    await page.goto(path);
    await ready();
  };
  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  /** Waits until those who hear the page are told it, by an element that was there before. */
  const isTold = async (text: string, within = 'body > [data-told]'): Promise<void> => {
    await waitFor(async () => (await page.textContent(`${within}[role=status]`)) === text, { what: text });
  };

  it('finds an issue by two words from anywhere, and goes there', async () => {
    // The words are typed before the palette has loaded, as on a slow connection.
    await page.route(
      /palette\./,
      async (route) => {
        await page.keyboard.type('order p');
        await route.continue();
      },
      { times: 1 },
    );
    await open(`/companies/${cast.company_id}`);
    await press('Control+k');
    await page.waitForSelector('.palette[open]');
    await page.keyboard.type('ap');
    await page.waitForSelector('.palette [id^=found-]');
    expect(await seriousFaults(page)).toEqual([]);
    await press('Enter');
    await page.waitForURL(/\/issues\//);
    expect(await page.textContent('h1')).toContain('Order paper');
  });

  it('goes to the agent whose name begins with what is typed, before pages that have it within a word', async () => {
    await open(`/companies/${cast.company_id}`);
    await press('Control+k');
    await page.waitForSelector('.palette[open]');
    await page.keyboard.type('gra');
    await press('Enter');
    await page.waitForURL(/\/agents\//);
    expect(await page.textContent('h1')).toContain('Grace Hopper');
  });

  it('goes to the issues, chooses two of them, and changes both with the way back', async () => {
    await ready();
    await press('g', 'i');
    await page.waitForURL(/\/issues$/);
    await open(`${issues}?sort=title&q=o`);
    await press('j', 'x', 'j', 'x');
    expect(await page.textContent('[data-chosen]')).toBe('2 selected');
    expect([await excessWidth(page), await seriousFaults(page)]).toEqual([0, []]);
    const focused = async () =>
      page.evaluate<string>('document.activeElement.id || document.activeElement.localName');
    await press('m', 'Escape');
    expect(await focused()).toBe('tr');
    await press('m', 'Tab');
    expect(await focused()).toBe('f-bulk-priority');
    await page.keyboard.type('critical');
    await page.focus('[data-bulk] .row button:not(.danger)');
    await press('Enter');
    await page.waitForSelector('[data-toast]');
    expect(await page.locator('td [data-priority=critical]').count()).toBe(2);
    // The browser is back on the list.
    await ready();
    expect(new URL(page.url()).pathname).toBe(issues);
    await page.focus('[data-toast] form button');
    await press('Enter');
    await page.waitForSelector('[data-toast]:has-text("changed back")');
    expect(await page.locator('td [data-priority=critical]').count()).toBe(0);
  });

  it('changes one property of the row that has the focus, in its place', async () => {
    await open(`${issues}?sort=title`);
    await press('j', 'p');
    await page.waitForSelector('td select');
    await page.selectOption('td select', 'high');
    await page.waitForSelector('tbody tr:first-child [data-priority=high]');
    expect(await page.locator('td [data-priority=high]').count()).toBe(1);
  });

  it('is told why a property of a row may not be changed to what was chosen', async () => {
    const { request } = page.context();
    const made = await request.post(`/api/companies/${cast.company_id}/agents`, { data: { name: 'Vera' } });
    const { id } = (await made.json()) as { id: string };
    await open(`${issues}?sort=title`);
    await press('j', 'a');
    await page.waitForSelector('td select');
    await request.delete(`/api/agents/${id}`);
    await page.selectOption('td select', { label: 'Vera' });
    await page.waitForSelector('[data-toast]:has-text("Bind the books: Unknown agent.")');
    await page.waitForSelector('tbody tr:first-child .cell:has-text("nobody"):focus');
    expect(await page.locator('td select').count()).toBe(0);
  });

  it('passes over the choices of a property by arrow keys, and makes one with Enter or by leaving', async () => {
    const posts: string[] = [];
    page.on('request', (sent) => {
      if (sent.url().endsWith('/properties')) posts.push(sent.postData() ?? '');
    });
    await press('j', 'Enter');
    await page.waitForURL(/\/issues\/[0-9a-f-]{36}/);
    await ready();
    const value = async () => page.inputValue('[name=status]');
    const saves = page.locator('form:has([name=status]) button');
    await page.focus('[name=status]');
    expect(await saves.isVisible()).toBe(false);
    await press('ArrowDown', 'ArrowDown');
    expect([await value(), await saves.isVisible(), posts]).toEqual(['in_progress', true, []]);
    await press('Escape');
    expect([await value(), await saves.isVisible()]).toEqual(['backlog', false]);
    await press('ArrowDown');
    await Promise.all([page.waitForEvent('load'), press('Enter')]);
    await ready();
    expect(posts).toEqual(['status=todo']);
    expect(await page.evaluate('document.activeElement.name')).toBe('status');
    // The button that has appeared is next.
    await press('ArrowUp', 'Tab');
    await Promise.all([page.waitForEvent('load'), press('Enter')]);
    await ready();
    expect([await value(), posts]).toEqual(['backlog', ['status=todo', 'status=backlog']]);
    await page.goto(`${issues}?sort=title`);
    await ready();
  });

  it('completes names while one writes, shows what it will look like, and sends it', async () => {
    await press('j', 'Enter');
    await page.waitForURL(/\/issues\/[0-9a-f-]{36}/);
    await ready();
    await page.focus('#f-comment');
    await page.keyboard.type('Ask @gra', { delay: 20 });
    await page.waitForSelector('.offers [role=option]');
    await press('Enter');
    await page.keyboard.type('**now**');
    expect(await page.inputValue('#f-comment')).toBe('Ask @Grace-Hopper **now**');
    await page.focus('[data-show-preview]');
    await press('Enter');
    await page.waitForSelector('[data-preview-place] strong');
    expect(await page.getAttribute('[data-preview-place] a.ref', 'href')).toMatch(/^\/agents\//);
    await press('Enter', 'Control+Enter');
    await page.waitForSelector('.comment strong:has-text("now")');
  });

  it('has read what was opened: the inbox lists only the others', async () => {
    const inbox = `/companies/${cast.company_id}/inbox`;
    const opened = (await page.textContent('h1'))!.split(' ')[0]!;
    const unread = async (): Promise<string[]> => {
      const { unread_issues } = await (await page.context().request.get(`/api${inbox}`)).json();
      return unread_issues.map(({ identifier }: { identifier: string }) => identifier);
    };
    await waitFor(async () => !(await unread()).includes(opened));
    expect((await unread()).length).toBeGreaterThan(0);
    await open(inbox);
    expect(await page.textContent('main')).not.toContain(opened);
    expect(await seriousFaults(page)).toEqual([]);
  });

  it('chooses approvals in the inbox, keeps the choice when more arrive, and decides about them', async () => {
    const approvals = `/api/companies/${cast.company_id}/approvals`;
    const ask = async (title: string) =>
      page.context().request.post(approvals, { data: { type: 'plan', title } });
    await ask('Paint the door');
    await open(`/companies/${cast.company_id}/inbox`);
    await page.focus('main li:has-text("Paint the door") a');
    await press('x');
    expect(await page.textContent('[data-chosen]')).toBe('1 selected');
    expect([await excessWidth(page), await seriousFaults(page)]).toEqual([0, []]);
    await ask('Paint the sign');
    // As after the stream was away.
    await page.evaluate('document.dispatchEvent(new Event("live-reset"))');
    await page.focus('main li:has-text("Paint the sign") a');
    await press('x');
    expect(await page.textContent('[data-chosen]')).toBe('2 selected');
    await press('m', 'Escape', 'm');
    await page.keyboard.type('Not this year');
    await press('Tab', 'Tab', 'Enter');
    await page.waitForSelector('[data-toast]:has-text("2 approvals rejected.")');
    await ready();
    expect(await page.locator('[data-pick]').count()).toBe(1);
    expect(await page.isVisible('[data-bulk]')).toBe(false);
  });

  it('hears how many rows are chosen, and that nothing was found', async () => {
    await open(issues);
    await press('j', 'x', 'j', 'x');
    await isTold('Change the 2 selected');
    await press('Control+k');
    await page.waitForSelector('.palette[open]');
    await page.keyboard.type('zzzz');
    await isTold('Nothing found', '.palette > ');
    await press('Escape');
    expect(await page.isVisible('.palette')).toBe(false);
    await open(issues);
    expect(await page.locator('[data-pick]:checked').count()).toBe(0);
    expect(await page.innerText('main')).not.toContain('have not sent');
  });

  it('puts an approval off and an issue as read, and goes on with what is left', async () => {
    await open(`/companies/${cast.company_id}/inbox`);
    const count = async () => Number((await page.textContent('.account .count')) ?? '');
    const waiting = await count();
    await press('j', 'h', 'Escape');
    expect(await page.evaluate('document.activeElement.localName')).toBe('summary');
    await press('h');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('for an hour');
    await press('Enter');
    await isTold('“Paint the shop” is snoozed. Undo');
    await ready();
    expect([await count(), await seriousFaults(page)]).toEqual([waiting - 1, []]);
    // The focus is on the row that comes next.
    const next = await page.evaluate<string>(
      'document.activeElement.closest("li").querySelector("a").textContent',
    );
    await press('e');
    await page.waitForSelector('.notice:has-text("is marked as read")');
    expect(await page.textContent('main')).not.toContain(next);
  });

  it('goes through the org chart, folds a part of it, and makes it larger', async () => {
    const at = (path: string) => `/companies/${cast.company_id}/agents${path}`;
    await page.context().request.patch(`/api/agents/${grace}`, { data: { reports_to: cast.agent_id } });
    await open(at('?view=chart'));
    expect([await excessWidth(page), await seriousFaults(page)]).toEqual([0, []]);
    await page.focus('.org .tree a');
    const focused = async () => page.evaluate('document.activeElement.textContent');
    await press('ArrowRight');
    expect(await focused()).toBe('Grace Hopper');
    await press('ArrowLeft');
    expect(await focused()).not.toBe('Grace Hopper');
    await press('ArrowLeft');
    expect(await page.locator('.org details[open]').count()).toBe(0);
    await press('+');
    expect(Number(await page.evaluate('document.querySelector(".org > .tree").style.zoom'))).toBeGreaterThan(
      1,
    );
  });

  it('does nothing by letters once they are switched off', async () => {
    await press('Escape');
    await open(`/companies/${cast.company_id}/keys`);
    await page.focus('[data-single-keys]');
    await press('Space', 'g', 'i', 'c');
    expect(new URL(page.url()).pathname).toBe(`/companies/${cast.company_id}/keys`);
    await open(`/companies/${cast.company_id}/keys`);
    expect(await page.isChecked('[data-single-keys]')).toBe(false);
  });
});

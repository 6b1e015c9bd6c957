/** Text that was typed and not sent yet outlives whatever else is done on its page. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createApproval, createIssue, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import type { BrowserContext, Page } from 'playwright-core';
import type { Cast } from '../http/cast.ts';
import { inBrowser, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

inBrowser(`unsent text${without}`, () => {
  let shown: Shown;
  let context: BrowserContext;
  let cast: Cast;
  let newIssue: () => Promise<string>;
  let approval: string;

  beforeAll(async () => {
    shown = await showPages();
    const { database } = shown;
    ({ cast } = shown);
    const director = systemActor('tests');
    newIssue = async () =>
      transaction(database, async (tx) => {
        const { id } = await createIssue(tx, director, cast.company_id, { title: 'Order paper' });
        return `/issues/${id}`;
      });
    ({ id: approval } = await transaction(database, async (tx) =>
      createApproval(tx, director, cast.company_id, { type: 'plan', title: 'Paint the shop' }),
    ));
    context = await shown.windowOf(cast.admin);
  });

  afterAll(() => shown?.close());

  const ready = async (page: Page): Promise<unknown> =>
    page.waitForSelector('[data-script=ready]', { state: 'attached' });
  const open = async (path: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(path);
    await ready(page);
    return page;
  };
  /** Does something that loads the page again. */
  const reloads = async (page: Page, act: () => Promise<unknown>): Promise<void> => {
    await page.evaluate('document.documentElement.dataset.old = ""');
    await act();
    await page.waitForSelector('[data-script=ready]:not([data-old])', { state: 'attached' });
  };

  it('stays while other acts of the issue’s page load it again, and is gone once it is sent', async () => {
    const page = await open(await newIssue());
    await page.fill('#f-comment', 'Half a thought');
    await reloads(page, async () => page.selectOption('[name=priority]', 'critical'));
    expect(await page.inputValue('#f-comment')).toBe('Half a thought');
    await page.locator('#f-comment').press('End');
    await page.keyboard.type(', finished');
    await reloads(page, async () => page.selectOption('[name=status]', 'blocked'));
    await reloads(page, async () => page.click('.comment-form > button:not([type])'));
    expect(await page.textContent('.comment')).toContain('Half a thought, finished');
    expect(await page.inputValue('#f-comment')).toBe('');
    await reloads(page, async () => page.selectOption('[name=priority]', 'low'));
    expect(await page.inputValue('#f-comment')).toBe('');
    await reloads(page, async () => page.goBack());
    expect(await page.inputValue('#f-comment')).toBe('');
    await page.close();
  });

  it('is still there if its form was refused, or never arrived', async () => {
    const path = await newIssue();
    const page = await open(path);
    for (const status of [204, 503]) {
      await page.route('**/comments', async (route) =>
        route.fulfill({ status, contentType: 'text/html', body: '<h1>Not now</h1>' }),
      );
      await page.fill('#f-comment', `On its way: ${status}`);
      const answered = page.waitForResponse('**/comments');
      await page.click('.comment-form > button:not([type])');
      await answered;
      if (status === 503) await page.waitForSelector('h1:has-text("Not now")');
      await page.goto(path);
      await ready(page);
      expect(await page.inputValue('#f-comment')).toBe(`On its way: ${status}`);
      await page.unroute('**/comments');
    }
    await reloads(page, async () => page.click('.comment-form > button:not([type])'));
    expect(await page.textContent('.comment')).toContain('On its way: 503');
    expect(await page.inputValue('#f-comment')).toBe('');
    await page.close();
  });

  it('in any form, with its fold: other acts of the page leave it, until it is discarded or saved', async () => {
    const page = await open(await newIssue());
    const form = page.locator('[data-fold=edit] form');
    const [title, text] = [form.locator('[name=title]'), form.locator('textarea')];
    const save = async () => reloads(page, async () => form.locator('button:not([type=button])').click());
    await page.click('[data-fold=edit] > summary');
    await title.fill('Order much paper');
    await text.fill('Of both kinds');
    await reloads(page, async () => page.selectOption('[name=priority]', 'critical'));
    expect(await title.isVisible()).toBe(true);
    expect([await title.inputValue(), await text.inputValue()]).toEqual([
      'Order much paper',
      'Of both kinds',
    ]);
    await form.locator('button:has-text("Discard")').click();
    expect([await title.inputValue(), await text.inputValue()]).toEqual(['Order paper', '']);
    await title.fill('Order more paper');
    await reloads(page, async () => page.reload());
    await save();
    expect(await page.textContent('h1')).toContain('Order more paper');
    expect(await title.isVisible()).toBe(false);
    await reloads(page, async () => page.reload());
    expect([await title.isVisible(), await form.locator('[data-unsent-note]').count()]).toEqual([false, 0]);
    // A form that a script had fetched.
    await page.fill('#f-comment', 'Said');
    await reloads(page, async () => page.click('.comment-form > button:not([type])'));
    await page.click('[data-edit-comment]');
    const said = page.locator('.comment [data-comment-text] textarea');
    await said.fill('Said better');
    await reloads(page, async () => page.selectOption('[name=priority]', 'low'));
    await said.waitFor();
    expect(await said.inputValue()).toBe('Said better');
    await page.close();
  });

  it('is there again on the way back, not after it was sent, and never if it is a secret', async () => {
    const path = `/companies/${cast.company_id}/issues/new`;
    const page = await open(path);
    await page.fill('[name=title]', 'Paint the shop');
    await page.selectOption('[name=priority]', 'high');
    await reloads(page, async () => page.click('.trail a'));
    await reloads(page, async () => page.goBack());
    expect([await page.inputValue('[name=title]'), await page.inputValue('[name=priority]')]).toEqual([
      'Paint the shop',
      'high',
    ]);
    await reloads(page, async () => page.click('form.card > button:not([type=button])'));
    expect(await page.textContent('h1')).toContain('Paint the shop');
    await page.goto(path);
    await ready(page);
    expect(await page.inputValue('[name=title]')).toBe('');
    await page.goto(`/companies/${cast.company_id}/webhooks`);
    await ready(page);
    await page.fill('[name=url]', 'https://shop.example');
    await page.fill('[name=secret]', 'never-kept');
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('never-kept');
    await reloads(page, async () => page.reload());
    expect([await page.inputValue('[name=url]'), await page.inputValue('[name=secret]')]).toEqual([
      'https://shop.example',
      '',
    ]);
    await page.close();
  });

  it('belongs to its own form, and to the person who typed it', async () => {
    const paths = [await newIssue(), `/approvals/${approval}`];
    const page = await open(paths[0]!);
    const field = page.locator('[data-draft] textarea');
    await field.fill('About the paper');
    await page.goto(paths[1]!);
    await ready(page);
    expect(await field.inputValue()).toBe('');
    await field.fill('About the shop');
    await page.goto(paths[0]!);
    await ready(page);
    expect(await field.inputValue()).toBe('About the paper');
    await shown.signIn(context, cast.member);
    await reloads(page, async () => page.reload());
    expect(await field.inputValue()).toBe('');
    await shown.signIn(context, cast.admin);
    await page.goto(paths[1]!);
    await ready(page);
    expect(await field.inputValue()).toBe('About the shop');
    await page.evaluate(`document.querySelector('form[action="/logout"]').requestSubmit()`);
    await page.waitForURL('**/login');
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await page.close();
  });
});

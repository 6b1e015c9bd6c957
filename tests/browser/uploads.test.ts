/** Files that are attached to an issue in the browser: while one writes, with a comment, and by its list of files. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createIssue, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { waitFor } from '@acp/testkit';
import type { BrowserContext, Page } from 'playwright-core';
import { inBrowser, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

inBrowser(`files of an issue${without}`, () => {
  let home: string;
  let shown: Shown;
  let context: BrowserContext;
  let open: () => Promise<Page>;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'uploads-'));
    shown = await showPages({
      env: {
        SERVICE_HOME: home,
        SERVICE_MAX_UPLOAD_SIZE: '2MB',
        SERVICE_ATTACHMENT_MAX_FILES_PER_REQUEST: '3',
      },
    });
    const { database, cast } = shown;
    context = await shown.windowOf(cast.admin, { viewport: { width: 1280, height: 900 } });
    open = async () => {
      const { id } = await transaction(database, async (tx) =>
        createIssue(tx, systemActor('tests'), cast.company_id, { title: 'Order paper' }),
      );
      const page = await context.newPage();
      await page.goto(`/issues/${id}`);
      await ready(page);
      return page;
    };
  });

  afterAll(async () => {
    await shown?.close();
    await rm(home, { recursive: true, force: true });
  });

  const ready = async (page: Page): Promise<unknown> =>
    page.waitForSelector('[data-script=ready]', { state: 'attached' });
  /** @returns whether the page took the files; otherwise the browser would open them in its place */
  const drop = async (page: Page, target: string, names: string[], bytes = 5): Promise<boolean> =>
    page.evaluate<boolean>(`(() => {
      const dataTransfer = new DataTransfer();
      for (const name of ${JSON.stringify(names)})
        dataTransfer.items.add(new File(['x'.repeat(${bytes})], name, { type: 'text/plain' }));
      const event = (name) => new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true });
      const target = document.querySelector('${target}');
      return !target.dispatchEvent(event('dragover')) && !target.dispatchEvent(event('drop'));
    })()`);
  /** @returns what lets the uploads pass */
  const holdUploads = async (page: Page): Promise<() => void> => {
    const held = Promise.withResolvers<void>();
    await page.route('**/attachments', async (route) => {
      await held.promise;
      await route.fallback();
    });
    return held.resolve;
  };
  const text = async (page: Page): Promise<string> => page.inputValue('#f-comment');
  const link = (name: string) => String.raw`\[${name}\]\(/api/attachments/[\w-]+/download\)`;

  it('leave the caret where one writes, have a place apart in the text, and what was typed can be undone', async () => {
    const page = await open();
    const release = await holdUploads(page);
    await page.locator('#f-comment').pressSequentially('typed');
    await drop(page, '#f-comment', ['f1.txt', 'f1.txt']);
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('AAAA ');
    await page.keyboard.press('Shift+Home');
    release();
    await waitFor(async () => !(await text(page)).includes('…'));
    await page.keyboard.type('BBBB ');
    expect(await text(page)).toMatch(new RegExp(`^BBBB typed\n${link('f1.txt')}\n${link('f1.txt')}$`));
    await page.keyboard.press('Control+End');
    await page.keyboard.type(', see');
    await drop(page, '#f-comment', ['f2.txt']);
    await waitFor(async () => new RegExp(`, see ${link('f2.txt')}$`).test(await text(page)));
    for (let step = 0; step < 20 && (await text(page)).includes('f2.txt'); step += 1)
      await page.keyboard.press('Control+z');
    expect(await text(page)).toMatch(new RegExp(`^BBBB typed\n${link('f1.txt')}\n${link('f1.txt')}`));
    await page.close();
  });

  it('are chosen with a button, which a phone has as well, while the line of the composer is open', async () => {
    const page = await open();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.focus('#f-comment');
    const chosen = page.waitForEvent('filechooser');
    await page.click('.comment-form label:has-text("Attach files")');
    const file = { name: 'photo.txt', mimeType: 'text/plain', buffer: Buffer.from('x') };
    await (await chosen).setFiles([file]);
    await waitFor(async () => (await text(page)).includes('download'));
    expect(await text(page)).toMatch(new RegExp(`^${link('photo.txt')}$`));
    await page.close();
  });

  it('are waited for by the comment that is sent meanwhile, and by who leaves the page', async () => {
    const page = await open();
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    const release = await holdUploads(page);
    const button = page.locator('.comment-form > button:not([type])');
    await page.locator('#f-comment').pressSequentially('See');
    await drop(page, '#f-comment', ['late.txt']);
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.comment-form > button[aria-busy=true]:disabled');
    expect(await page.textContent('.comment-form [role=status]')).toContain(
      'as soon as the files are attached',
    );
    await page.keyboard.press('Control+Enter');
    await page.evaluate('location.assign("/companies")');
    await waitFor(() => asked.length > 0);
    release();
    await page.waitForSelector('.comment a[href*="/api/attachments/"]:has-text("late.txt")');
    await ready(page);
    expect([asked, await page.locator('.comment').count(), await text(page)]).toEqual([
      ['beforeunload'],
      1,
      '',
    ]);

    await page.route('**/attachments', async (route) =>
      route.fulfill({ status: 503, json: { error: 'no room' } }),
    );
    await page.locator('#f-comment').pressSequentially('Once more');
    const again = await holdUploads(page);
    await drop(page, '#f-comment', ['lost.txt']);
    await button.click();
    again();
    await page.waitForSelector('.comment-form [role=status].error');
    expect(await page.textContent('.comment-form .error')).toBe(
      'It was not sent. lost.txt could not be attached: no room.',
    );
    expect([await button.isEnabled(), (await text(page)).trim()]).toEqual([true, 'Once more']);
    await button.click();
    await page.waitForSelector('.comment:has-text("Once more")');
    expect(await text(page)).toBe('');
    await page.close();
  });

  it('are taken by the list of files, and nowhere else on the page; what exceeds a limit is told which', async () => {
    const page = await open();
    const names = ['1.txt', '2.txt', '3.txt', '4.txt'];
    expect([await drop(page, 'h1', names), await drop(page, '#files h3', names)]).toEqual([true, true]);
    const listed = page.locator('#files a[download]');
    await waitFor(async () => (await listed.count()) === 4);
    expect(await page.locator('#files [data-running]').count()).toBe(0);
    await drop(page, '#f-comment', ['large.txt'], 2_000_001);
    await page.waitForSelector('[data-toast]');
    expect(await page.textContent('[data-toast] > span')).toBe(
      'large.txt could not be attached: files may have up to 2 MB',
    );
    await page.click('#files summary');
    expect(await page.textContent('#h-file')).toContain('At most 3 files at once, in all 2 MB.');
    const chosen = names.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('x') }));
    const problem = async (): Promise<string> =>
      page.evaluate('document.querySelector("#f-file").validationMessage');
    await page.setInputFiles('#f-file', chosen);
    expect(await problem()).toBe('At most 3 files at once, in all 2 MB.');
    await page.setInputFiles('#f-file', chosen.slice(1));
    expect(await problem()).toBe('');
    await page.click('#files form button:has-text("Upload")');
    await waitFor(async () => (await listed.count()) === 7);
    await page.close();
  });
});

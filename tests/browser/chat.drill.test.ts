/** A chat in a browser: streamed text stays in place, and everything works by keyboard. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  cloneDatabase,
  type FakeModel,
  type ServiceProcess,
  startFakeModel,
  startService,
  waitFor,
} from '@acp/testkit';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { complaintsOf, excessWidth, inBrowser, launchBrowser, seriousFaults, without } from './chromium.ts';

const account = { email: 'ada@example.com', password: 'correct horse battery' };
const pieces =
  'First *words*.\n\n|A table|B|\n|---|---|\n|1|2|\n\n```js\nlet a = 1;\n```\n\n<img src=x onerror=alert(1)> and [bad](javascript:alert(1)) the end.';

inBrowser(`a chat${without}`, () => {
  let service: ServiceProcess;
  let model: FakeModel;
  let browser: Browser;
  let context: BrowserContext;
  let agent: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    model = await startFakeModel();
    const { url: DATABASE_URL } = await cloneDatabase('chat_pages');
    service = await startService({
      DATABASE_URL,
      SERVICE_BOOTSTRAP_ADMIN_EMAIL: account.email,
      SERVICE_BOOTSTRAP_ADMIN_PASSWORD: account.password,
      SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
      SERVICE_DEFAULT_LLM_MODEL: 'test',
      SERVICE_DEFAULT_LLM_BASE_URL: model.url,
    });
    browser = await launchBrowser();
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, baseURL: service.url });
    context.on('page', (page) => complaintsOf(page, complaints));
    await context.request.post('/login', { form: account });
    const post = async (path: string, data: object): Promise<{ id: string }> =>
      (await context.request.post(path, { data })).json() as Promise<{ id: string }>;
    const { id } = await post('/api/companies', { name: 'Harbour', slug: 'harbour' });
    agent = (await post(`/api/companies/${id}/agents`, { name: 'Grace' })).id;
  });

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await model?.close();
  });

  async function openChat(): Promise<Page> {
    const page = await context.newPage();
    await page.goto(`/agents/${agent}`);
    await page.click('.actions button:has-text("Chat")');
    await page.waitForSelector('html[data-script=ready] [data-composer]');
    return page;
  }
  const say = async (page: Page, text: string) => {
    await page.fill('[data-composer] textarea', text);
    await page.press('[data-composer] textarea', 'Enter');
  };

  it('begins with its heading in sight, on a phone as well', async () => {
    const page = await openChat();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    await page.waitForSelector('html[data-script=ready] [data-composer]');
    expect(await page.evaluate('scrollY')).toBe(0);
    await page.close();
  });

  it('draws a reply as it comes, leaves what is complete alone, and lets no HTML of the model through', async () => {
    const seen = Promise.withResolvers<void>();
    const chunks = pieces.match(/[^]{1,9}/g)!;
    model.setScript(() => ({ chunks, chunk_delay_ms: 200, until: seen.promise }));
    const page = await openChat();
    await say(page, 'Show me what you can');
    // Marks the node of the first block: it must still be the same one when the reply is complete.
    await page.waitForSelector('[data-words] .block:nth-child(2)');
    await page.evaluate("document.querySelector('[data-words] .block').dataset.mark = 'kept'");
    await page.waitForSelector('[data-words] pre');
    expect(await page.getAttribute('[data-words] .block', 'data-mark')).toBe('kept');
    seen.resolve();
    await page.waitForSelector('.said[data-role=assistant] .did');
    expect(await page.locator('.said[data-role=assistant] table td').allTextContents()).toEqual(['1', '2']);
    expect(await page.locator('.said img, .said a[href^="javascript"]').count()).toBe(0);
    await waitFor(async () => (await page.textContent('h1')) === 'Show me what you can');
    await page.hover('.said pre code');
    expect(await page.locator('.said pre button').count()).toBe(1);
    // The browser refuses at first: it is not said to have copied.
    await page.click('.said pre .copy');
    expect(await page.textContent('.said pre .copy')).toBe('Copy');
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.click('.said pre .copy');
    await page.waitForSelector('.said pre .copy:has-text("Copied")');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await page.textContent('.said pre code'),
    );
    expect(await seriousFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await excessWidth(page)).toBe(0);
    await page.close();
    expect(complaints).toEqual([]);
  });

  it('leaves what is selected in a reply selected while it is written', async () => {
    const rest = Promise.withResolvers<void>();
    const chunks = ['A paragraph *that* ', 'goes ', 'on ', 'and ends'];
    model.setScript(() => ({ chunks, chunk_delay_ms: 600, until: rest.promise }));
    const page = await openChat();
    await say(page, 'Go on and on');
    await page.waitForSelector('[data-words] em');
    await page.evaluate(`(() => {
      const [text] = document.querySelector('[data-words] p').childNodes;
      getSelection().setBaseAndExtent(text, 2, text, 11);
    })()`);
    await page.waitForSelector('[data-words]:has-text("and ends")');
    expect(await page.evaluate('getSelection().toString()')).toBe('paragraph');
    rest.resolve();
    await page.waitForSelector('.said[data-role=assistant] .did');
    await page.close();
  });

  it('asks again for messages that could not be had, although nothing more happens', async () => {
    model.setScript(() => 'Here I am');
    const page = await openChat();
    const faults = complaints.length;
    let isDown = true;
    await page.route('**/thread*', async (route) =>
      isDown ? route.fulfill({ status: 502, body: 'Bad gateway' }) : route.continue(),
    );
    const chat = /chats\/([^/?]+)/.exec(page.url())![1]!;
    const messages = `/api/chats/${chat}/messages`;
    const refused = page.waitForResponse((answer) => answer.status() === 502);
    await context.request.post(messages, { data: { body_markdown: 'Are you there?' } });
    await waitFor(async () => (await (await context.request.get(messages)).text()).includes('Here I am'));
    await refused;
    isDown = false;
    await page.waitForSelector('.said:has-text("Here I am")');
    expect(await page.locator('.said[data-role=user]').allTextContents()).toEqual([
      expect.stringContaining('Are you there?'),
    ]);
    await page.close();
    complaints.splice(faults);
  });

  it('says that the session has ended to whoever sends something, and nothing else of it', async () => {
    const page = await openChat();
    const faults = complaints.length;
    await context.clearCookies();
    await say(page, 'Half a thought');
    await page.waitForSelector('.offline:has-text("You are signed out")');
    expect(await page.inputValue('[data-composer] textarea')).toBe('Half a thought');
    expect(await page.locator('[data-error]').isVisible()).toBe(false);
    await context.request.post('/login', { form: account });
    await page.close();
    complaints.splice(faults);
  });

  it('goes on when Escape closes the palette that was opened over it', async () => {
    const rest = Promise.withResolvers<void>();
    model.setScript(() => ({ chunks: ['Some ', 'words'], chunk_delay_ms: 200, until: rest.promise }));
    const page = await openChat();
    await say(page, 'Take your time');
    await page.waitForSelector('[data-words] .block');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.keyboard.press('Control+k');
    await page.waitForSelector('dialog.palette[open]');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog.palette:not([open])', { state: 'attached' });
    rest.resolve();
    await page.waitForSelector('.said[data-role=assistant] .did');
    expect(asked.filter((path) => path.endsWith('/stop'))).toEqual([]);
    await page.close();
  });

  it('is stopped by Escape with its words kept, goes on in a tab that was opened meanwhile, and is edited by ↑', async () => {
    model.setScript(() => ({ chunks: ['Some ', 'words'], chunk_delay_ms: 30, stall: 'end' }));
    const page = await openChat();
    await say(page, 'Talk for long');
    await page.waitForSelector('[data-words]:has-text("Some words")');
    const second = await context.newPage();
    await second.goto(page.url());
    await second.waitForSelector('[data-words]:has-text("Some words")');
    await page.keyboard.press('Escape');
    for (const tab of [page, second])
      await tab.waitForSelector('.said[data-role=assistant]:not([data-follow]):has-text("stopped")');
    model.setScript(({ messages }) => `Again: ${messages.at(-1)!.content}`);
    await page.press('[data-composer] textarea', 'ArrowUp');
    await page.fill('.edit-said[open] textarea', 'Talk briefly');
    const sent: string[] = [];
    page.on('request', (request) => sent.push(new URL(request.url()).pathname));
    await page.evaluate("for (const _ of '12') document.querySelector('.edit-said[open] button').click()");
    for (const tab of [page, second]) await tab.waitForSelector('.said:has-text("Again: Talk briefly")');
    expect(sent.filter((path) => path.endsWith('/resend'))).toHaveLength(1);
    for (const tab of [page, second])
      await tab.waitForSelector(
        '.said[data-role=user]:not(:has-text("long"), :has([open])):has-text("Talk briefly")',
      );
    expect(await page.locator('[data-error]').isVisible()).toBe(false);
    expect(await page.locator('.said').count()).toBe(2);
    await page.close();
    await second.close();
    expect(complaints).toEqual([]);
  });

  it('gets its name from the first exchange although the stream of the reply never says that it has ended', async () => {
    model.setScript(() => 'Well.');
    const page = await openChat();
    const held = Promise.withResolvers<void>();
    await page.route('**/messages/*/stream', async () => held.promise);
    await say(page, 'How is the harbour?');
    await waitFor(async () => (await page.textContent('h1')) === 'How is the harbour?');
    held.resolve();
    await page.close();
    expect(complaints).toEqual([]);
  });

  it('gets its name also where the reply is there before anybody looked for it', async () => {
    model.setScript(() => 'Well.');
    const page = await openChat();
    const title = async (): Promise<string | null> =>
      (await (await context.request.get(`/api${new URL(page.url()).pathname}`)).json()).title;
    await page.route('**/chats/*/thread*', async (route) => {
      await waitFor(title);
      await route.continue();
    });
    await say(page, 'How deep is the harbour?');
    await waitFor(async () => (await page.textContent('h1')) === 'How deep is the harbour?');
    await page.close();
    expect(complaints).toEqual([]);
  });

  it('leads from its former messages to the newest ones, by itself if something is said', async () => {
    model.setScript(() => 'Well.');
    const page = await openChat();
    const chat = page.url();
    await say(page, 'First');
    await page.waitForSelector('.said[data-role=assistant]:not([data-follow])');
    await page.goto(`${chat}?before=1`);
    await page.click('text=Newest messages');
    await page.waitForSelector('.said[data-role=assistant]');
    await page.goto(`${chat}?before=1`);
    await page.waitForSelector('html[data-script=ready]');
    await say(page, 'Second');
    await page.waitForURL(chat);
    await page.waitForSelector('.said:has-text("Second")');
    await page.close();
    expect(complaints).toEqual([]);
  });

  it('loses nothing typed: elsewhere before its script was there, or after what could not be sent', async () => {
    const [script, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const page = await openChat();
    await page.route('**/chat.js', async (route) => {
      await script.promise;
      await route.continue();
    });
    await page.goto(page.url(), { waitUntil: 'commit' });
    await page.focus('#f-find');
    await page.keyboard.type('har');
    script.resolve();
    await page.waitForSelector('html[data-script=ready]');
    await page.keyboard.type('bour');
    expect(await page.inputValue('#f-find')).toBe('harbour');
    await page.route('**/api/chats/*/messages', async (route) => {
      await answer.promise;
      await route.fulfill({ status: 503, json: { error: 'come back later' } });
    });
    await say(page, 'First');
    await page.fill('[data-composer] textarea', 'Second');
    answer.resolve();
    await page.waitForSelector('[data-error]:has-text("come back later")');
    expect(await page.inputValue('[data-composer] textarea')).toBe('First\n\nSecond');
    await page.close();
    // The browser itself logs the refusal.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('503')]);
  });

  it('follows a reply whose stream a proxy could not reach at first', async () => {
    const seen = Promise.withResolvers<void>();
    // The last chunk is held back.
    model.setScript(() => ({ chunks: ['Words ', 'at last', '.'], chunk_delay_ms: 30, until: seen.promise }));
    const page = await openChat();
    let asked = 0;
    await page.route('**/messages/*/stream', async (route) => {
      asked += 1;
      await (asked === 1 ? route.fulfill({ status: 502, body: 'bad gateway' }) : route.continue());
    });
    await say(page, 'Are you there?');
    await page.waitForSelector('[data-words]:has-text("Words at last")');
    expect(asked).toBe(2);
    seen.resolve();
    await page.waitForSelector('.said[data-role=assistant]:not([data-follow])');
    await page.close();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('502')]);
  });

  it('takes files by the picker, by paste and by drop, and shows them in the message', async () => {
    model.setScript(({ messages }) => `Read: ${messages.at(-1)!.content.includes('green paint')}`);
    const page = await openChat();
    const chosen = page.locator('[data-files] li');
    await page.setInputFiles('#f-files', [
      { name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('green paint') },
    ]);
    for (const [event, carrier, target] of [
      ['paste', 'clipboardData', '#f-say'],
      ['drop', 'dataTransfer', '.thread'],
    ])
      await page.evaluate(`(async () => {
        const data = new DataTransfer();
        const canvas = Object.assign(document.createElement('canvas'), { width: 40, height: 30 });
        const blob = await new Promise((done) => canvas.toBlob(done));
        data.items.add(new File([blob], '${event}.png', { type: 'image/png' }));
        const event = new Event('${event}', { bubbles: true, cancelable: true });
        Object.defineProperty(event, '${carrier}', { value: data });
        document.querySelector('${target}').dispatchEvent(event);
      })()`);
    await waitFor(async () => (await chosen.count()) === 3);
    await page.waitForSelector('[data-files] img');
    await page.click('[data-files] button[aria-label="Remove paste.png"]');
    await page.press('[data-composer] textarea', 'Enter');
    await page.waitForSelector('.said[data-role=assistant]:has-text("Read: true")');
    expect(await page.locator('.said-files .file-name').allTextContents()).toEqual(['plan.txt', 'drop.png']);
    const seen = 'document.querySelector(".said-files img")?.naturalWidth';
    await waitFor(async () => (await page.evaluate(seen)) === 40);
    expect(await chosen.count()).toBe(0);
    expect(await seriousFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await excessWidth(page)).toBe(0);
    await page.close();
    expect(complaints).toEqual([]);
  });
});

/**
 * A page stays up to date while it is open, whatever has happened since it was rendered, in any number of tabs.
 * @in-order the last test ends the service, and the one before it looks back on all others
 */
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
import { complaintsOf, inBrowser, launchBrowser, seriousFaults, without } from './chromium.ts';

const account = { email: 'ada@example.com', password: 'correct horse battery' };
const chunks = Array.from({ length: 12 }, (_, index) => `Word ${index + 1}. `);
const script = () => ({ chunks: [...chunks, '\n/status done'], chunk_delay_ms: 40 });

inBrowser(`a page that stays open${without}`, () => {
  let service: ServiceProcess;
  let model: FakeModel;
  let browser: Browser;
  let context: BrowserContext;
  let company: string;
  let agent: string;
  const complaints: string[] = [];

  const open = async (path: string): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(path);
    return page;
  };
  const call = async (method: 'post' | 'patch' | 'get', path: string, data?: object) => {
    const response = await context.request[method](path, data ? { data } : {});
    expect([path, response.ok()]).toEqual([path, true]);
    return response.json() as Promise<{ id: string; streams: number }>;
  };
  const statusIs = async (page: Page, status: string): Promise<void> => {
    await waitFor(async () => (await page.inputValue('[name=status]')) === status, { what: status });
  };
  const newIssue = async (fields: object = {}): Promise<string> =>
    (await call('post', `/api/companies/${company}/issues`, { title: 'Look into it', ...fields })).id;
  const streams = async (): Promise<number> => (await call('get', '/api/admin/sse-metrics')).streams;

  const signedIn = async (to: Browser): Promise<BrowserContext> => {
    const made = await to.newContext({ viewport: { width: 1280, height: 900 }, baseURL: service.url });
    made.on('page', (page) => complaintsOf(page, complaints));
    await made.request.post('/login', { form: account });
    return made;
  };

  beforeAll(async () => {
    model = await startFakeModel({ script });
    const { url: DATABASE_URL } = await cloneDatabase('live_pages');
    service = await startService({
      DATABASE_URL,
      SERVICE_BOOTSTRAP_ADMIN_EMAIL: account.email,
      SERVICE_BOOTSTRAP_ADMIN_PASSWORD: account.password,
      SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
      SERVICE_DEFAULT_LLM_MODEL: 'test',
      SERVICE_DEFAULT_LLM_BASE_URL: model.url,
    });
    browser = await launchBrowser();
    context = await signedIn(browser);
    company = (await call('post', '/api/companies', { name: 'Harbour', slug: 'harbour' })).id;
    agent = (await call('post', `/api/companies/${company}/agents`, { name: 'Grace' })).id;
  });

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await model?.close();
  });

  it('shows the whole transcript and the outcome of runs that began just now', async () => {
    for (let round = 0; round < 3; round++) {
      const page = await open(`/issues/${await newIssue({ assignee_agent_id: agent })}`);
      await page.waitForSelector('.run .status[data-status=succeeded]');
      await page.waitForSelector('.comment:has-text("Word 12.")');
      await statusIs(page, 'done');
      await page.waitForSelector('.run .t-output:has-text("Word 12.")', { state: 'attached' });
      const written = await page.textContent('.run .t-output');
      expect(written!.replaceAll(/\s+/g, ' ').trim()).toMatch(new RegExp(`^${chunks.join('').trim()}`));
      await page.close();
    }
  });

  it('tells a screen reader that the run has ended, whose transcript everybody can reach', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    model.setScript(async () => held.then(script));
    const { id } = await call('post', `/api/agents/${agent}/heartbeat/invoke`);
    const page = await open(`/runs/${id}`);
    release();
    model.setScript(script);
    const told = 'body > [role=status]:has-text("Run of Grace: succeeded")';
    await page.waitForSelector(told, { state: 'attached' });
    await page.waitForSelector('.t-fold summary');
    expect(await seriousFaults(page)).toEqual([]);
    await page.close();
  });

  it('leaves the runs that somebody looks at where they are when another comes above them', async () => {
    const page = await open(`/companies/${company}/runs`);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    await page.setViewportSize({ width: 1280, height: 240 });
    const links = page.locator('tbody td:first-child a');
    const [newest, seen] = [
      await links.first().getAttribute('href'),
      await links.nth(2).getAttribute('href'),
    ];
    const row = page.locator(`td:first-child a[href="${seen}"]`);
    await row.evaluate((link) => link.scrollIntoView({ block: 'center' }));
    const before = (await row.boundingBox())!.y;
    await call('post', `/api/agents/${agent}/heartbeat/invoke`);
    await waitFor(async () => (await links.first().getAttribute('href')) !== newest, { what: 'a new run' });
    expect(Math.abs((await row.boundingBox())!.y - before)).toBeLessThan(2);
    await page.close();
  });

  it('learns what happened between its rendering and its stream', async () => {
    const issue = await newIssue();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await context.route('**/static/*/app.js', async (route) => {
      await held;
      await route.continue();
    });
    const page = await context.newPage();
    await page.goto(`/issues/${issue}`, { waitUntil: 'commit' });
    await page.waitForSelector('[name=status]');
    await call('patch', `/api/issues/${issue}`, { status: 'blocked' });
    await call('post', `/api/issues/${issue}/comments`, { body_markdown: 'Said meanwhile' });
    release();
    await statusIs(page, 'blocked');
    await page.waitForSelector('.comment');
    expect(await page.textContent('.comment')).toContain('Said meanwhile');
    await context.unroute('**/static/*/app.js');
    await page.close();
  });

  it('keeps what is unfolded, and the focus, when a part renews itself', async () => {
    const page = await open(`/issues/${await newIssue({ assignee_agent_id: agent })}`);
    const issue = page.url().split('/').at(-1)!;
    await page.waitForSelector('.run .status[data-status=succeeded]');
    const prompt = page.locator('.run .t-fold[data-kind=prompt]');
    if (!(await prompt.isVisible())) await page.click('.run details[data-fold] > summary');
    await prompt.locator('summary').click();
    await page.focus('.run a[href^="/runs/"]');
    await page.evaluate('document.querySelector(".run").dataset.old = ""');
    await call('patch', `/api/issues/${issue}`, { priority: 'critical' });
    await page.waitForSelector('.run:not([data-old])', { state: 'attached' });
    expect(await prompt.getAttribute('open')).toBe('');
    expect(await page.evaluate('document.activeElement.getAttribute("href")')).toMatch(/^\/runs\//);
    await page.close();
  });

  it('leaves what is read in its place, unfolded and selected, while others write', async () => {
    const issue = await newIssue();
    const say = async (body_markdown: string) =>
      call('post', `/api/issues/${issue}/comments`, { body_markdown });
    for (let index = 0; index < 14; index++) await say(`Said as number ${index}.\n\n- at\n- length`);
    const page = await open(`/issues/${issue}`);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    const read = `(() => {
      const oldest = document.querySelector('.activities > div > .timeline .comment');
      return [oldest.id, oldest.getBoundingClientRect().top, getSelection().toString()];
    })()`;
    await page.evaluate(`(() => {
      const oldest = document.querySelector('.activities > div > .timeline .comment');
      oldest.scrollIntoView();
      getSelection().selectAllChildren(oldest.querySelector('[data-comment-text] p'));
    })()`);
    const before = await page.evaluate<unknown[]>(read);
    expect([before[2], await page.textContent('.old-activity > summary')]).toEqual([
      'Said as number 2.',
      expect.stringContaining('Show earlier: 2'),
    ]);
    for (const text of ['One more', 'And another']) await say(text);
    await page.waitForSelector('.comment:has-text("And another")');
    expect(await page.evaluate(read)).toEqual(before);
    await page.close();
  });

  it('folds the transcript of a run that was followed to its end, unless somebody opened it', async () => {
    for (const byHand of [false, true]) {
      const held = Promise.withResolvers<void>();
      model.setScript(async () => held.promise.then(script));
      const page = await open(`/issues/${await newIssue({ assignee_agent_id: agent })}`);
      const transcript = page.locator('.run details:has([data-transcript])');
      await page.waitForSelector('.run .status[data-status=running]');
      await page.waitForSelector('[data-script=ready]', { state: 'attached' });
      await page.waitForSelector('.working:has-text("Grace is working") a[href^="#run-"]');
      if (byHand) for (const _ of ['close', 'open']) await transcript.locator('> summary').click();
      held.resolve();
      model.setScript(script);
      await page.waitForSelector('.run .status[data-status=succeeded]');
      await page.waitForSelector('.working:has-text("Grace has finished") a[href="#newest"]');
      expect(await transcript.getAttribute('open')).toBe(byHand ? '' : null);
      await page.close();
    }
  });

  it('says that there are new issues, and shows them when asked', async () => {
    const page = await open(`/companies/${company}/issues`);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    for (const title of ['Bind the books', 'Order paper']) await newIssue({ title });
    await page.click('[data-new-issues]:has-text("2 new issues")');
    await page.waitForSelector('tbody tr:has-text("Order paper")');
    expect(await page.locator('[data-new-issues]').isVisible()).toBe(false);
    await page.close();
  });

  it('notices an import: the board shows it, the list says how many there are', async () => {
    const board = await open(`/companies/${company}/board`);
    const list = await open(`/companies/${company}/issues`);
    for (const page of [board, list])
      await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    const issues = ['Paint the shed', 'Mend the roof'].map((title, index) => ({ slug: `i${index}`, title }));
    const bundle = { format: 'company-bundle', version: 1, company: { name: 'Elsewhere' }, issues };
    await call('post', '/api/companies/import', { bundle, company_id: company });
    await board.waitForSelector('.issue-card:has-text("Mend the roof")');
    await list.click('[data-new-issues]:has-text("2 new issues")');
    await list.waitForSelector('tbody tr:has-text("Paint the shed")');
    expect(await list.locator('[data-new-issues]').isVisible()).toBe(false);
    for (const page of [board, list]) await page.close();
  });

  it('tells what others write while somebody edits the same text, and leaves what is typed', async () => {
    const issue = await newIssue();
    const page = await open(`/issues/${issue}`);
    await page.click('[data-fold=edit] > summary');
    await page.fill('[data-fold=edit] textarea', 'Typed here');
    await call('patch', `/api/issues/${issue}`, { title: 'Renamed', body_markdown: 'Written there' });
    await page.waitForSelector('[data-reads]:has-text("Written there")');
    await page.waitForSelector('h1:has-text("Renamed")');
    expect(await page.inputValue('[data-fold=edit] textarea')).toBe('Typed here');
    await page.close();
  });

  it('leaves what is typed while a part’s new content is on its way, and asks once for a comment’s form', async () => {
    const issue = await newIssue();
    await call('post', `/api/issues/${issue}/comments`, { body_markdown: 'Said before' });
    const page = await open(`/issues/${issue}`);
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const source = await page.evaluate<string>(
      'document.querySelector("[data-fold=edit]").closest("[data-source]").dataset.source',
    );
    await page.route(`**${source}`, async (route) => {
      asked.resolve();
      await answer.promise;
      await route.continue();
    });
    await call('patch', `/api/issues/${issue}`, { body_markdown: 'Written there' });
    await asked.promise;
    await page.click('[data-fold=edit] > summary');
    await page.fill('[data-fold=edit] textarea', 'Typed here');
    answer.resolve();
    await page.waitForSelector('[data-reads]:has-text("Written there")');
    expect(await page.inputValue('[data-fold=edit] textarea')).toBe('Typed here');
    await page.click('[data-edit-comment]');
    await page.fill('.comment [data-comment-text] textarea', 'Said better');
    await page.click('[data-edit-comment]');
    expect(await page.evaluate('document.activeElement.value')).toBe('Said better');
    await page.close();
  });

  it('has the browser tell who asked for it that something waits, and brings them to it', async () => {
    const whole = await launchBrowser({ whole: true });
    const asked = await signedIn(whole);
    await asked.grantPermissions(['notifications'], { origin: service.url });
    const page = await asked.newPage();
    // Every page of a headless browser counts as visible; no one else sees the notifications.
    await page.addInitScript(`
      Object.defineProperty(Document.prototype, 'visibilityState', { get: () => 'hidden' });
      globalThis.Notification = class extends Notification {
        constructor(...given) {
          super(...given);
          this.addEventListener('show', () => (globalThis.shown = this));
        }
      };`);
    await page.goto(`/companies/${company}/inbox`);
    await page.click('[data-ask-notices]:has-text("Notify me in this browser")');
    await page.waitForSelector('[data-ask-notices]:has-text("turn off")');
    const plan = { type: 'plan', title: 'Paint the harbour' };
    await call('post', `/api/companies/${company}/approvals`, plan);
    const shown = await waitFor(async () =>
      page.evaluate<string | undefined>('globalThis.shown && `${shown.title}: ${shown.body}`'),
    );
    expect(shown).toBe('Harbour: 1 thing waits for you');
    await page.goto(`/companies/${company}/board`);
    await call('post', `/api/companies/${company}/approvals`, plan);
    await waitFor(async () => page.evaluate<boolean>('globalThis.shown !== undefined'));
    await page.evaluate("shown.dispatchEvent(new Event('click'))");
    await page.waitForURL(/\/inbox$/);
    await whole.close();
  });

  it('has one connection for eight tabs, and all of them hear what happens', async () => {
    const issue = await newIssue();
    const tabs: Page[] = [];
    for (let index = 0; index < 8; index++) tabs.push(await open(`/issues/${issue}`));
    await call('patch', `/api/issues/${issue}`, { status: 'in_review' });
    for (const tab of tabs) await statusIs(tab, 'in_review');
    expect(await streams()).toBe(1);
    for (const tab of tabs) await tab.close();
    await waitFor(async () => (await streams()) === 0, { what: 'the stream to end with its last tab' });
  });

  it('follows three companies at once, and a fourth when its tab is looked at', async () => {
    const companies = [company];
    for (const slug of ['one', 'two', 'three'])
      companies.push((await call('post', '/api/companies', { name: slug, slug })).id);
    const boards: Page[] = [];
    for (const id of companies) boards.push(await open(`/companies/${id}/board`));
    await waitFor(async () => (await streams()) === 3, { what: 'three streams' });
    await newIssue({ title: 'Seen later' });
    const [first] = boards;
    await first!.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    await first!.waitForSelector('.issue-card:has-text("Seen later")');
    expect(await streams()).toBe(3);
    for (const board of boards) await board.close();
  });

  it('has met no script error and nothing that the policy refused', () => {
    expect(complaints).toEqual([]);
  });

  it('says that the session has ended, where it stands, and goes on after a sign-in in another tab', async () => {
    const issue = await newIssue();
    const here = `/issues/${issue}`;
    const page = await open(`${here}?runs=all`);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    await page.fill('#f-comment', 'Half a thought');
    await context.clearCookies();
    // What happens is still heard of until the stream is checked again.
    await page.evaluate(
      `document.dispatchEvent(new CustomEvent('live', { detail: { type: 'issue_updated', data: {}, topics: ['issue:${issue}'] } }))`,
    );
    const bar = page.locator('.offline:has-text("You are signed out")');
    await bar.waitFor();
    await page.click('.comment-form > button:not([type])');
    await page.waitForSelector('[data-toast]:has-text("sign in first")');
    expect([new URL(page.url()).pathname, await page.inputValue('#f-comment')]).toEqual([
      here,
      'Half a thought',
    ]);
    expect(await bar.locator('a').getAttribute('href')).toBe(
      `/login?next=${encodeURIComponent(`${here}?runs=all`)}`,
    );
    expect(await seriousFaults(page)).toEqual([]);
    await context.request.post('/login', { form: account });
    await call('patch', `/api/issues/${issue}`, { status: 'in_review' });
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await bar.waitFor({ state: 'detached' });
    await statusIs(page, 'in_review');
    expect(await page.inputValue('#f-comment')).toBe('Half a thought');
    expect((await page.locator('.sr-only[role=status]').allInnerTexts()).join()).not.toContain('signed out');
    await page.close();
  });

  it('says that the session has ended to whoever attaches a file or looks at a preview, and nothing else of it', async () => {
    const file = { name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('A plan') };
    const acts = [
      async (page: Page) => page.setInputFiles('#f-attach', file),
      async (page: Page) => page.click('[data-show-preview]'),
    ];
    const toasts: string[][] = [];
    for (const act of acts) {
      const page = await open(`/issues/${await newIssue()}`);
      await page.waitForSelector('[data-script=ready]', { state: 'attached' });
      await page.fill('#f-comment', 'Half a thought');
      await context.clearCookies();
      await act(page);
      await page.waitForSelector('.offline:has-text("You are signed out")');
      await waitFor(async () => (await page.inputValue('#f-comment')).trim() === 'Half a thought');
      toasts.push(await page.locator('[data-toast] > span').allInnerTexts());
      await page.close();
      await context.request.post('/login', { form: account });
    }
    expect(toasts).toEqual([['plan.txt could not be attached'], []]);
  });

  it('keeps a form and what was typed while the service is away, and says so', async () => {
    const page = await open(`/companies/${company}/projects`);
    await page.waitForSelector('html[data-script=ready]');
    await waitFor(async () => (await streams()) === 1, { what: 'the stream' });
    await page.fill('[name=name]', 'Half a thought');
    const noticed = page.evaluate(
      'new Promise((resolve) => document.addEventListener("live-closed", resolve, { once: true })).then(() => null)',
    );
    service.kill('SIGKILL');
    await noticed;
    await page.click('form.card > button');
    await page.waitForSelector('[data-toast]:has-text("Nothing was sent")');
    expect(await page.inputValue('[name=name]')).toBe('Half a thought');
  });
});

/** How a part of a page asks for what no event tells, and what becomes of what was chosen in it. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { waitFor } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import type { BrowserContext, Page, Route } from 'playwright-core';
import type { Cast } from '../http/cast.ts';
import { inBrowser, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

inBrowser(`a part that renews itself${without}`, () => {
  let shown: Shown;
  let context: BrowserContext;
  let database: Database;
  let cast: Cast;
  let log: string;
  let topic: string;

  beforeAll(async () => {
    shown = await showPages();
    ({ database, cast } = shown);
    context = await shown.windowOf(cast.admin);
    const plugin = { name: 'Greet', slug: 'greet', binary_path: '/opt/plugins/greet' };
    const id = await post(`/api/companies/${cast.company_id}/plugins`, plugin);
    await database.db.update(schema.plugins).set({ state: 'running' }).where(eq(schema.plugins.id, id));
    log = `/plugins/${id}/log`;
    topic = `plugin:${id}`;
  });

  afterAll(() => shown?.close());

  /** @returns the id of what it has made */
  const post = async (path: string, data: object = {}): Promise<string> => {
    const response = await context.request.post(path, { data });
    expect([path, response.ok()]).toEqual([path, true]);
    return ((await response.json()) as { id: string }).id;
  };
  const open = async (path: string): Promise<Page> => {
    const page = await context.newPage();
    await page.clock.install();
    // Only what is asked for by the part itself is counted.
    await page.addInitScript(
      "addEventListener('live-reset', (event) => event.stopImmediatePropagation(), true)",
    );
    await page.goto(path);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    return page;
  };
  /** Counts requests for the part, of which the first ones remain without an answer. */
  const asked = async (page: Page, lost = 0) => {
    const counter = { count: 0, open: 0 };
    await page.route(`**${log.replace(/log$/, 'part/log')}`, async (route) => {
      counter.count += 1;
      counter.open += 1;
      await (counter.count > lost ? route.fulfill({ response: await route.fetch() }) : route.abort());
      counter.open -= 1;
    });
    return counter;
  };
  const live = async (page: Page, about: string): Promise<void> =>
    page.evaluate(`document.dispatchEvent(new CustomEvent('live', { detail: { topics: ['${about}'] } }))`);
  const pass = async (page: Page, ms: number, part = { open: 0 }): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      await page.clock.runFor(500);
      // By its answer the page's requests of before have been seen.
      await page.evaluate('document.readyState');
      await waitFor(() => part.open === 0);
    }
  };

  /** Passes by itself, too. */
  const clockOf = async (page: Page): Promise<number> => page.evaluate<number>('Date.now()');

  it('looks for what it awaits once at a time, however often events have renewed it', async () => {
    const page = await open(log);
    const part = await asked(page);
    for (let event = 0; event < 8; event++) {
      await live(page, topic);
      await pass(page, 500, part);
    }
    part.count = 0;
    await pass(page, 30_000, part);
    expect(part.count).toBeLessThan(4);
    await page.close();
  });

  it('waits once for the focus to leave what somebody types in, however much happens meanwhile', async () => {
    const id = await post(`/api/companies/${cast.company_id}/issues`, { title: 'Typed in' });
    const page = await open(`/issues/${id}`);
    await page.click('[data-fold=edit] > summary');
    await page.fill('[data-fold=edit] textarea', 'Half a thought');
    for (let event = 0; event < 5; event++) {
      await live(page, `issue:${id}`);
      await pass(page, 1000);
    }
    const debug = await context.newCDPSession(page);
    const expression = 'document.querySelector("[data-fold=edit]").closest("[data-source]")';
    const { result } = await debug.send('Runtime.evaluate', { expression });
    const { listeners } = await debug.send('DOMDebugger.getEventListeners', { objectId: result.objectId! });
    expect(listeners.filter(({ type }) => type === 'focusout')).toHaveLength(1);
    await page.close();
  });

  it('asks every few seconds for what does not cease to change, or its reader would be refused: and at once after a calm', async () => {
    const id = await post(`/api/companies/${cast.company_id}/issues`, { title: 'Busy' });
    const page = await open(`/issues/${id}`);
    const parts: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/part/')) parts.push(request.url());
    });
    const began = await clockOf(page);
    for (let event = 0; event < 120; event++) {
      await live(page, `issue:${id}`);
      await pass(page, 500);
    }
    const timeline = parts.filter((url) => new URL(url).pathname === `/issues/${id}/part/timeline`);
    expect(timeline.length).toBeGreaterThan(10);
    // Of the 300 per minute that an address has by default.
    const minutes = ((await clockOf(page)) - began) / 60_000;
    expect(parts.length).toBeLessThan(180 * minutes);
    await pass(page, 20_000);
    parts.length = 0;
    await live(page, `issue:${id}`);
    await pass(page, 500);
    await waitFor(() => parts.some((url) => new URL(url).pathname === `/issues/${id}/part/timeline`));
    await page.close();
  });

  it.each([
    ['board', 'board/part/cards'],
    ['issues', 'issues/part/rows'],
  ])(
    'of the many issues of a page of %s that change without end asks once a second, and is never more than that behind',
    async (view, part) => {
      const path = `/api/companies/${cast.company_id}/issues`;
      for (const n of Array.from({ length: 45 }).keys()) await post(path, { title: `Number ${n}` });
      const page = await open(`/companies/${cast.company_id}/${view}`);
      const ids = await page.evaluate<string[]>(
        '[...new Set([...document.querySelectorAll("[data-issue]")].map(({ dataset }) => dataset.issue))]',
      );
      expect(ids.length).toBeGreaterThan(29);
      const requests: string[][] = [];
      page.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url());
        if (pathname === `/companies/${cast.company_id}/${part}`)
          requests.push(searchParams.get('issues')!.split(','));
      });
      const began = await clockOf(page);
      for (let event = 0; event < 200; event++) {
        const id = ids[event % ids.length]!;
        await page.evaluate(
          `document.dispatchEvent(new CustomEvent('live', { detail: { topics: [], type: 'issue_updated', data: { id: '${id}' } } }))`,
        );
        await page.clock.runFor(100);
      }
      await pass(page, 2000);
      const seconds = ((await clockOf(page)) - began) / 1000;
      expect(new Set(requests.flat()).size).toBe(ids.length);
      expect(requests.length).toBeGreaterThan(seconds / 3);
      expect(requests.length).toBeLessThan(seconds + 2);
      requests.length = 0;
      await pass(page, 10_000);
      expect(requests).toEqual([]);
      await page.close();
    },
  );

  it('goes on looking while nobody answers', async () => {
    const page = await open(log);
    const part = await asked(page, 2);
    // On a busy machine an answer that fails may come late by the page's clock.
    for (let past = 0; past < 60_000 && part.count <= 2; past += 10_000) await pass(page, 10_000, part);
    expect(part.count).toBeGreaterThan(2);
    await page.close();
  });

  it.each([
    ['is lost', async (route: Route) => route.abort()],
    ['is refused for now', async (route: Route) => route.fulfill({ status: 503 })],
  ])('shows what has happened although its request %s, and nothing else happens', async (_, lose) => {
    const id = await post(`/api/companies/${cast.company_id}/issues`, { title: 'Order paper' });
    const page = await open(`/issues/${id}`);
    let lost = 0;
    await page.route(
      '**/part/description',
      async (route) => {
        lost += 1;
        await lose(route);
      },
      { times: 2 },
    );
    await context.request.patch(`/api/issues/${id}`, { data: { body_markdown: 'Of both sizes' } });
    await live(page, `issue:${id}`);
    await pass(page, 15_000);
    await page.waitForSelector('[data-reads]:has-text("Of both sizes")');
    expect(lost).toBe(2);
    await page.close();
  });

  it('shows an alert on a page that said all is well', async () => {
    const page = await open(`/companies/${cast.company_id}/alerts`);
    await page.waitForSelector('main :text("All is well")');
    await database.pool.query(
      "insert into alerts (company_id, kind, key, level, message) values ($1, 'stuck_runs', 'a', 'error', 'Runs are stuck')",
      [cast.company_id],
    );
    await live(page, 'notification');
    await pass(page, 500);
    await page.waitForSelector('main :text("Runs are stuck")');
    expect(await page.innerText('main')).not.toContain('All is well');
    await page.close();
  });

  it('takes back what to do about a code once it has been done', async () => {
    const { company_id } = cast;
    const values = { company_id, name: 'news', kind: 'telegram', bot_token: 'x' };
    const [channel] = await database.db.insert(schema.channels).values(values).returning();
    const page = await open('/profile/channels');
    await page.click('main button:has-text("Create a code")');
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    await page.waitForSelector('.once:has-text("Send this to")');
    const who = { user_id: cast.admin.user_id, external_id: '7', external_name: 'Ada there' };
    await database.db
      .insert(schema.chat_pairings)
      .values({ company_id, channel_id: channel!.id, channel: 'telegram', ...who });
    await pass(page, 4000);
    await page.waitForSelector('main :text("You are paired as Ada there")');
    expect(await page.innerText('main')).not.toContain('Send this to');
    await page.click('main button:has-text("Pair another account")', { trial: true });
    await page.close();
  });

  it('marks an issue as read once the service takes it again, and asks no sooner than it may', async () => {
    const id = await post(`/api/companies/${cast.company_id}/issues`, { title: 'Bind the books' });
    const marks = { count: 0, open: 0 };
    const refusals = [{ status: 429, headers: { 'Retry-After': '40' } }, { status: 503 }];
    await context.route(`**/issues/${id}/read`, async (route) => {
      marks.open += 1;
      const refusal = refusals[marks.count];
      marks.count += 1;
      await (refusal ? route.fulfill(refusal) : route.fulfill({ response: await route.fetch() }));
      marks.open -= 1;
    });
    const page = await open(`/issues/${id}`);
    await waitFor(() => marks.count === 1 && marks.open === 0);
    // What happens meanwhile is no reason to ask earlier.
    await live(page, `issue:${id}`);
    await pass(page, 38_000, marks);
    expect(marks.count).toBe(1);
    await pass(page, 3000, marks);
    expect(marks.count).toBe(2);
    await pass(page, 6000, marks);
    expect(marks.count).toBe(3);
    const unread = `/api/companies/${cast.company_id}/inbox`;
    expect(await (await context.request.get(unread)).text()).not.toContain(id);
    await pass(page, 10_000, marks);
    expect(marks.count).toBe(3);
    await page.close();
  });

  it('says on the page of an issue that it has been deleted, until it is there again', async () => {
    const id = await post(`/api/companies/${cast.company_id}/issues`, { title: 'Order paper' });
    const page = await open(`/issues/${id}`);
    await context.request.delete(`/api/issues/${id}`);
    await live(page, `issue:${id}`);
    await pass(page, 1000);
    await page.waitForSelector('main > [role=alert]:has-text("This is no longer here")');
    expect(await page.locator('[data-toast]').count()).toBe(1);
    await database.db.update(schema.issues).set({ deleted_at: null }).where(eq(schema.issues.id, id));
    await live(page, `issue:${id}`);
    await pass(page, 1000);
    await page.waitForSelector('[data-gone]', { state: 'detached' });
    await page.close();
  });

  it.each([true, false])(
    'leaves the row of somebody in it where it is, whatever comes and goes above, with the beginning in sight: %s',
    async (atStart) => {
      const all = `/api/companies/${cast.company_id}/approvals`;
      const name = atStart ? 'wall' : 'door';
      const asks: string[] = [];
      for (let n = 0; n < 12; n++)
        asks.push(await post(all, { type: 'action', title: `Paint ${name} ${n}` }));
      const page = await open(`/companies/${cast.company_id}/approvals`);
      await page.setViewportSize({ width: 1280, height: 900 });
      const row = page.locator(`tr:has-text("Paint ${name} 5")`);
      const first = page.locator(`tr:has-text("Paint ${name} 7")`);
      if (!atStart) await first.evaluate((element) => element.scrollIntoView());
      await row.locator('a').first().focus();
      const before = (await row.boundingBox())!.y;
      for (const title of ['Order paint', 'Order brushes']) await post(all, { type: 'action', title });
      await live(page, 'approvals');
      await pass(page, 3000);
      await page.waitForSelector('tr:has-text("Order brushes")');
      expect(Math.abs((await row.boundingBox())!.y - before)).toBeLessThan(2);
      await post(`/api/approvals/${asks[7]}/approve`);
      await live(page, 'approvals');
      await pass(page, 3000);
      await first.waitFor({ state: 'detached' });
      expect(Math.abs((await row.boundingBox())!.y - before)).toBeLessThan(2);
      await page.close();
      for (const id of asks) await context.request.post(`/api/approvals/${id}/cancel`);
    },
  );

  it('leaves nothing chosen but what was, when the row of that has gone and another has come', async () => {
    const all = `/api/companies/${cast.company_id}/approvals`;
    const asks = async (title: string): Promise<string> => post(all, { type: 'action', title });
    await asks('Paint the shop');
    const first = await asks('Order paper');
    const page = await open(`/companies/${cast.company_id}/approvals`);
    await page.check('[aria-label="Select Order paper"]');
    await page.evaluate('document.activeElement.blur()');
    await post(`/api/approvals/${first}/approve`);
    await asks('Wire a million');
    await live(page, 'approvals');
    await pass(page, 3000);
    await page.waitForSelector('[aria-label="Select Wire a million"]');
    expect(await page.locator('[data-pick]:checked').count()).toBe(0);
    await page.check('[aria-label="Select Paint the shop"]');
    expect(await page.innerText('[data-bulk]')).toContain('1 selected');
    expect(await page.innerText('[data-bulk]')).not.toContain('not sent it');
    // Whoever comes back later decides anew about what; what was written is still there.
    await page.fill('[data-bulk] textarea', 'Too dear');
    await page.goto('/profile');
    await page.goto(`/companies/${cast.company_id}/approvals`);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    expect(await page.locator('[data-pick]:checked').count()).toBe(0);
    expect(await page.inputValue('[data-bulk] textarea')).toBe('Too dear');
    await page.close();
  });
});

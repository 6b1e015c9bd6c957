/** @in-order one board, opened by the first test */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { cloneDatabase, createCompany, type ServiceProcess, startService, waitFor } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { inBrowser, launchBrowser, nameless, without } from './chromium.ts';

const CARDS = 1000;
const columns = ['backlog', 'todo', 'in_progress', 'in_review', 'blocked'];
const account = { email: 'ada@example.com', password: 'correct horse battery' };

/** Creates as many issues as a busy company has open, filling each column. */
async function fill({ db }: Database): Promise<string> {
  const { id, identifier_prefix } = await createCompany(db);
  await db.insert(schema.issues).values(
    Array.from({ length: CARDS }, (_, index) => ({
      company_id: id,
      title: `Card ${index}: measure where in the checkout people leave, and ask five of them why`,
      status: columns[index % columns.length]!,
      issue_number: index + 1,
      identifier: `${identifier_prefix}-${index + 1}`,
    })),
  );
  await db.execute(sql`insert into issue_counters values (${id}, ${CARDS + 1})`);
  return id;
}

inBrowser(`a board of a thousand cards${without}`, () => {
  let service: ServiceProcess;
  let database: Database;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let company: string;
  /** Paths that the page has requested. */
  const asked: string[] = [];
  const scripts: Promise<number>[] = [];

  beforeAll(async () => {
    const clone = await cloneDatabase('large_board');
    ({ database } = clone);
    company = await fill(database);
    service = await startService({
      DATABASE_URL: clone.url,
      SERVICE_ROLE: 'web',
      SERVICE_BOOTSTRAP_ADMIN_EMAIL: account.email,
      SERVICE_BOOTSTRAP_ADMIN_PASSWORD: account.password,
    });
    browser = await launchBrowser();
    context = await browser.newContext({ viewport: { width: 1440, height: 900 }, baseURL: service.url });
    await context.request.post('/login', { form: account });
    page = await context.newPage();
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    page.on('response', (response) => {
      if (response.request().resourceType() === 'script')
        scripts.push(
          response
            .request()
            .sizes()
            .then(({ responseBodySize }) => responseBodySize),
        );
    });
  });

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  const cardsIn = async (status: string): Promise<number> =>
    page.locator(`[data-column=${status}] .issue-card`).count();
  /** The count as displayed: the column's cards plus those not shown. */
  const counted = async (status: string): Promise<string | null> =>
    page.textContent(`[data-column=${status}] [data-count]`);
  const patch = async (id: string, body: object): Promise<void> => {
    const response = await context.request.patch(`/api/issues/${id}`, { data: body });
    expect(response.status()).toBe(200);
  };
  const idsIn = async (status: string): Promise<string[]> =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll('[data-column=${status}] .issue-card')].map((each) => each.dataset.issue)`,
    );

  it('comes with the newest of each column, with little script, and draws what is in sight', async () => {
    await page.goto(`/companies/${company}/board`, { waitUntil: 'load' });
    expect([await cardsIn('todo'), await counted('todo')]).toEqual([30, '200']);
    // The live stream's worker is fetched once for all tabs, before or after the page has loaded.
    expect(asked.filter((path) => !path.endsWith('/live-worker.js')).length).toBeLessThan(14);
    expect(asked.filter((path) => path.startsWith('/issues/'))).toEqual([]);
    // As sent: compressed.
    const bytes = (await Promise.all(scripts)).reduce((sum, each) => sum + each, 0);
    expect(bytes).toBeGreaterThan(1000);
    expect(bytes).toBeLessThan(38_000);
    const drawn = await page.evaluate<number>(
      `[...document.querySelectorAll('.card-title')].filter((title) => title.checkVisibility({ contentVisibilityAuto: true })).length`,
    );
    expect(drawn).toBeGreaterThan(10);
    expect(drawn).toBeLessThan(CARDS / 5);
    // Those that are not drawn have names all the same.
    expect(await nameless(page)).toEqual([]);
  });

  it('brings older cards as the end of their column comes into sight, each once', async () => {
    for (const loaded of [60, 90]) {
      await page.locator('[data-column=blocked] [data-more]').scrollIntoViewIfNeeded();
      await waitFor(async () => (await cardsIn('blocked')) >= loaded, { what: 'older cards' });
    }
    const ids = await idsIn('blocked');
    expect([new Set(ids).size, await counted('blocked')]).toEqual([ids.length, '200']);
    expect(await cardsIn('todo')).toBe(30);
  });

  it('is as it was left when somebody comes back from a card', async () => {
    const other = await context.newPage();
    await other.setViewportSize({ width: 900, height: 900 });
    await other.goto(`/companies/${company}/board`);
    const column = `document.querySelector('[data-column=blocked] .cards')`;
    const shown = async () => other.locator('[data-column=blocked] .issue-card').count();
    for (const loaded of [60, 90]) {
      await other.locator('[data-column=blocked] [data-more]').scrollIntoViewIfNeeded();
      await waitFor(async () => (await shown()) >= loaded, { what: 'older cards' });
    }
    await other.evaluate(`${column}.scrollTop = 4000`);
    const card = await other.evaluate<string>(
      `[...${column}.children].find((each) => each.getBoundingClientRect().top > 500).id`,
    );
    const place = async () => [
      await shown(),
      ...(await other.evaluate<number[]>(`[
        document.querySelector('.board').scrollLeft,
        Math.round(document.getElementById('${card}').getBoundingClientRect().top / 10),
      ]`)),
    ];
    await other.click(`#${card}`, { trial: true });
    const left = await place();
    expect(left[1]).toBeGreaterThan(0);
    await other.click(`#${card}`);
    await other.waitForURL(/\/issues\//);
    await other.goBack();
    await waitFor(async () => (await other.evaluate('document.activeElement.id')) === card, {
      what: 'the card to have the focus again',
    });
    expect(await place()).toEqual(left);
    await other.close();
  });

  it('is one stop of the tab key', async () => {
    expect(await page.locator('.issue-card[tabindex="0"]').count()).toBe(1);
    const [first, second] = await idsIn('todo');
    await page.focus(`#card-${first!}`);
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate('document.activeElement.dataset.issue')).toBe(second);
    expect(await page.locator('.issue-card[tabindex="0"]').count()).toBe(1);
  });

  it('moves the focused card by keyboard, and only that one', async () => {
    const [first] = await idsIn('todo');
    await page.focus(`#card-${first!}`);
    await page.keyboard.press('Shift+ArrowRight');
    await page.waitForSelector('#board-said:has-text("is now in progress")', { state: 'attached' });
    expect([await counted('todo'), await counted('in_progress')]).toEqual(['199', '201']);
    expect(await page.evaluate('document.activeElement.dataset.issue')).toBe(first);
  });

  it('takes up a burst of changes elsewhere with a request a second at most', async () => {
    await page.evaluate(`{
      globalThis.added = 0;
      new MutationObserver((records) => {
        for (const record of records) globalThis.added += [...record.addedNodes].filter((node) => node.nodeType === 1).length;
      }).observe(document.querySelector('.board'), { childList: true, subtree: true });
    }`);
    const moved = (await idsIn('backlog')).slice(0, 25);
    const before = asked.length;
    const began = Date.now();
    for (const id of moved) await patch(id, { status: 'in_review' });
    // The same card over and over still counts as one.
    for (const priority of ['low', 'high', 'low', 'critical']) await patch(moved[0]!, { priority });
    const counts = async () => `${await counted('backlog')} ${await counted('in_review')}`;
    await waitFor(async () => (await counts()) === '175 225', { what: 'all cards to arrive' });
    await page.waitForSelector(`[data-column=in_review] #card-${moved[0]!} [data-priority=critical]`);
    expect(await cardsIn('in_review')).toBe(55);
    const requests = asked.slice(before).filter((path) => path.includes(`/companies/${company}/board`));
    const seconds = (Date.now() - began) / 1000;
    expect(requests.length).toBeGreaterThan(0);
    expect(requests.length).toBeLessThanOrEqual(seconds + 2);
    const added = await page.evaluate<number>('globalThis.added');
    // Each of them is one node, of which some may come again with each request.
    expect(added).toBeLessThanOrEqual(25 + 25 * requests.length);
  });

  it('counts a card out of the column that did not show it', async () => {
    const listed = await context.request.get(`/api/companies/${company}/issues?status=backlog&limit=200`);
    const all = ((await listed.json()) as { id: string }[]).map(({ id }) => id);
    const shown = await idsIn('backlog');
    const hidden = all.find((id) => !shown.includes(id))!;
    const before = Number(await counted('backlog'));
    await patch(hidden, { status: 'done' });
    await page.waitForSelector(`[data-column=done] #card-${hidden}`);
    const counts = async () => `${await counted('backlog')} ${await counted('done')}`;
    await waitFor(async () => (await counts()) === `${before - 1} 1`, { what: 'the new counts' });
    expect(await cardsIn('done')).toBe(1);
  });

  it('leaves a card where it is, beyond those that are shown, when somebody writes about it', async () => {
    const listed = await context.request.get(
      `/api/companies/${company}/issues?status=todo&limit=200&sort=updated_at`,
    );
    const oldest = ((await listed.json()) as { id: string }[]).at(-1)!.id;
    const [shown] = await idsIn('todo');
    const before = [await cardsIn('todo'), await counted('todo')];
    expect(await page.locator(`#card-${oldest}`).count()).toBe(0);
    for (const id of [oldest, shown]) {
      const written = await context.request.post(`/api/issues/${id}/comments`, {
        data: { body_markdown: 'Seen' },
      });
      expect(written.status()).toBe(201);
    }
    await page.waitForSelector(`#card-${shown!} :text("1 comment")`);
    expect(await page.locator(`#card-${oldest}`).count()).toBe(0);
    expect([await cardsIn('todo'), await counted('todo')]).toEqual(before);
  });

  it('keeps a hundred cards of a column that more and more come into, and brings the others when they are reached', async () => {
    await page.evaluate("document.querySelector('[data-column=blocked] .cards').scrollTop = 0");
    const { rows } = await database.pool.query<{ id: string }>(
      `select id from issues where status = 'backlog' limit 60`,
    );
    for (const { id } of rows) await patch(id, { status: 'blocked' });
    await waitFor(async () => (await cardsIn('blocked')) === 100 && (await counted('blocked')) === '260');
    for (const { id } of rows.slice(0, 2))
      expect(await page.locator(`[data-column=blocked] #card-${id}`).count()).toBe(1);
    await waitFor(async () => {
      await page.locator('[data-column=blocked] [data-more]').scrollIntoViewIfNeeded();
      return (await cardsIn('blocked')) >= 130;
    });
    const ids = await idsIn('blocked');
    const listed = await context.request.get(
      `/api/companies/${company}/issues?status=blocked&limit=200&sort=updated_at`,
    );
    const all = ((await listed.json()) as { id: string }[]).map(({ id }) => id);
    expect([ids, await counted('blocked')]).toEqual([all.slice(0, ids.length), '260']);
  });

  it('has the order in which it is shown when it is loaded again', async () => {
    const compared = ['todo', 'in_review', 'done'];
    const orders = async () =>
      Promise.all(compared.map(async (status) => (await idsIn(status)).slice(0, 20)));
    const [, second, , fourth] = await idsIn('todo');
    await patch(fourth!, { title: 'Changed where it is' });
    await patch(second!, { priority: 'critical' });
    await waitFor(async () => (await idsIn('todo')).slice(0, 2).join() === `${second},${fourth}`, {
      what: 'the changed cards to be at the top',
    });
    const live = await orders();
    await page.goto(`/companies/${company}/board`, { waitUntil: 'load' });
    expect(live).toEqual(await orders());
  });

  it('separates thousands in its counts, as the server does and as the script does', async () => {
    await database.db.execute(sql`insert into issues (company_id, title, status, issue_number, identifier)
      select ${company}::uuid, 'Done ' || n, 'done', 5000 + n, 'DONE-' || n from generate_series(1, 1100) n`);
    await page.goto(`/companies/${company}/board`, { waitUntil: 'load' });
    await page.waitForSelector('html[data-script=ready]');
    expect(await counted('done')).toBe('1,101');
    const [first] = await idsIn('todo');
    await patch(first!, { status: 'done' });
    await waitFor(async () => (await counted('done')) === '1,102', { what: 'the new count' });
  });

  it('does not move its columns when the first card comes into one that every run uses', async () => {
    await database.pool.query(`delete from issues where status in ('in_progress', 'cancelled')`);
    await page.goto(`/companies/${company}/board`, { waitUntil: 'load' });
    await page.waitForSelector('html[data-script=ready]');
    const places = () =>
      page.evaluate<number[]>(
        `[...document.querySelectorAll('[data-column]')].map((each) => Math.round(each.getBoundingClientRect().left))`,
      );
    const before = await places();
    const [first] = await idsIn('todo');
    await patch(first!, { status: 'in_progress' });
    await page.waitForSelector(`[data-column=in_progress] #card-${first!}`);
    expect(await places()).toEqual(before);
    await patch(first!, { status: 'todo' });
    await page.waitForSelector(`[data-column=todo] #card-${first!}`);
    expect(await places()).toEqual(before);
  });
});

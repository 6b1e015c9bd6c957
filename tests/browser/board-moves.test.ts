/** Cards that someone moves while others change them, and while requests are slow, refused or lost. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type Database, transaction } from '@acp/db';
import { cloneDatabase, createIssue, type ServiceProcess, startService, waitFor } from '@acp/testkit';
import type { Browser, Page, Request, Route } from 'playwright-core';
import { type Cast, createCast, type Person, sessionOf } from '../http/cast.ts';
import { inBrowser, launchBrowser, without } from './chromium.ts';

/** More than a column comes with. */
const OLD = 33;

inBrowser(`a card of the board${without}`, () => {
  let database: Database;
  let service: ServiceProcess;
  let browser: Browser;
  let cast: Cast;
  let page: Page;
  /** Errors of scripts on the page. */
  const thrown: string[] = [];

  beforeAll(async () => {
    const clone = await cloneDatabase('board_moves');
    ({ database } = clone);
    cast = await createCast(database);
    service = await startService({ DATABASE_URL: clone.url, SERVICE_ROLE: 'web' });
    browser = await launchBrowser();
    page = await boardOf(cast.member);
  });

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  beforeEach(async () => {
    await page.unrouteAll();
    thrown.length = 0;
  });

  const boardOf = async (person: Person, locale = 'en'): Promise<Page> => {
    const viewport = { width: 1440, height: 900 };
    const context = await browser.newContext({ viewport, baseURL: service.url, locale });
    await context.addCookies([{ name: 'service_session', value: sessionOf(person), url: service.url }]);
    const opened = await context.newPage();
    opened.on('pageerror', ({ message }) => thrown.push(message));
    await open(opened);
    return opened;
  };
  const open = async (opened: Page): Promise<void> => {
    await opened.goto(`/companies/${cast.company_id}/board`);
    await opened.waitForSelector('[data-script=ready]', { state: 'attached' });
  };
  /** What somebody else does. */
  const change = async (id: string, body: object | null): Promise<void> => {
    const response = await fetch(`${service.url}/api/issues/${id}`, {
      method: body ? 'PATCH' : 'DELETE',
      headers: { ...cast.board_admin.headers, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect([id, response.ok]).toEqual([id, true]);
  };
  /** A new card, once the page shows it. */
  const newCard = async (title: string, status = 'todo'): Promise<string> => {
    const response = await fetch(`${service.url}/api/companies/${cast.company_id}/issues`, {
      method: 'POST',
      headers: { ...cast.board_admin.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ title, status }),
    });
    const { id } = (await response.json()) as { id: string };
    await page.waitForSelector(`[data-column=${status}] #card-${id}`);
    return id;
  };
  /** Waits until the page has taken up whatever happened before. */
  const caughtUp = async (): Promise<void> => void (await newCard('Something else', 'backlog'));
  /** The columns that show the card. */
  const columnsOf = async (id: string, on = page): Promise<string[]> =>
    on.evaluate<string[]>(
      `[...document.querySelectorAll('[id="card-${id}"]')].map((card) => card.closest('[data-column]').dataset.column)`,
    );
  const comesTo = async (id: string, status: string): Promise<void> => {
    await waitFor(async () => (await columnsOf(id)).join() === status, { what: `one card in ${status}` });
  };
  const toast = (text: string): string => `[data-toast]:has-text("${text}")`;
  /** What is seen, and what is heard. */
  const told = async (on = page): Promise<(string | null)[]> => [
    await on.textContent('[data-toast] > span'),
    await on.textContent('#board-said'),
  ];
  /** Holds the first matching answer back until it is released. */
  const hold = async (path: string): Promise<{ ready: Promise<void>; release: () => Promise<void> }> => {
    const [ready, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let asked: Request | undefined;
    await page.route(
      path,
      async (route: Route) => {
        const response = await route.fetch();
        asked = route.request();
        ready.resolve();
        await held.promise;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    const release = async (): Promise<void> => {
      const answered = page.waitForEvent('requestfinished', (request) => request === asked);
      held.resolve();
      await answered;
    };
    return { ready: ready.promise, release };
  };

  it('that changes or disappears while it is dragged ends where it is dropped, once, or is gone', async () => {
    const changes = [{ priority: 'critical' }, { status: 'in_progress' }, null];
    for (const body of changes) {
      const id = await newCard('Dragged');
      await page.hover(`#card-${id} .card-title`);
      await page.mouse.down();
      await page.hover('[data-column=blocked] h2');
      await page.waitForSelector(`#card-${id}[data-dragged]`);
      await change(id, body);
      await caughtUp();
      await page.hover('[data-column=in_review] h2');
      await page.mouse.up();
      if (body === null) await page.waitForSelector(toast('Dragged is no longer on the board'));
      await caughtUp();
      await comesTo(id, body === null ? '' : 'in_review');
      expect(await page.locator('[data-dragged], [data-over]').count()).toBe(0);
    }
    await page.waitForSelector('[data-column=in_review] [data-priority=critical]');
    expect(thrown).toEqual([]);
  });

  it('returns, with a word, if its move is lost, and is fetched again if that failed', async () => {
    const id = await newCard('Unreachable');
    await page.route('**/move', (route) => route.abort(), { times: 1 });
    const fetched = page.waitForResponse(`**/board/part/cards*${id}*`);
    await page.focus(`#card-${id}`);
    await page.keyboard.press('Shift+ArrowRight');
    const words = 'Unreachable could not be moved: the service cannot be reached';
    await page.waitForSelector(toast(words));
    expect([await told(), await columnsOf(id)]).toEqual([[words, words], ['todo']]);
    expect(await page.evaluate('document.activeElement.id')).toBe(`card-${id}`);
    await fetched;
    let lost = 0;
    await page.route(
      `**/board/part/cards*${id}*`,
      async (route) => {
        lost += 1;
        await (lost === 1 ? route.abort() : route.fulfill({ status: 503 }));
      },
      { times: 2 },
    );
    await change(id, { priority: 'critical' });
    await page.waitForSelector(`#card-${id} [data-priority=critical]`);
    expect([lost, thrown]).toEqual([2, []]);
  });

  it('of a viewer is not moved at all, and the move of who lost that right is refused with the reason, in their language', async () => {
    const id = await newCard('Only read');
    const theirs = await boardOf(cast.viewer, 'de');
    await change(id, { priority: 'low' });
    await theirs.waitForSelector(`#card-${id} [data-priority=low]`);
    const draggable = async (on: Page, is: boolean): Promise<number> =>
      on.locator(`.issue-card[draggable=${is}]`).count();
    expect([(await draggable(page, true)) > 0, await draggable(page, false)]).toEqual([true, 0]);
    expect([await draggable(theirs, true), (await draggable(theirs, false)) > 0]).toEqual([0, true]);
    expect(await theirs.textContent('#board-help')).not.toContain('Umschalt');
    await theirs.focus(`#card-${id}`);
    const sent: string[] = [];
    theirs.on('request', (each) => sent.push(each.method()));
    await theirs.keyboard.press('Shift+ArrowRight');
    expect([sent.includes('POST'), await columnsOf(id, theirs)]).toEqual([false, ['todo']]);
    // `c` writes a new issue where one may.
    await theirs.keyboard.press('c');
    await theirs.keyboard.press('Control+k');
    await theirs.waitForSelector('.palette[open]');
    expect([new URL(theirs.url()).pathname, await theirs.textContent('.palette')]).toEqual([
      expect.stringMatching(/board$/),
      expect.not.stringContaining('Neuer Vorgang'),
    ]);
    await theirs.keyboard.press('Escape');
    await theirs.focus(`#card-${id}`);
    await theirs.evaluate(`document.getElementById('card-${id}').draggable = true`);
    await theirs.keyboard.press('Shift+ArrowRight');
    const words = 'Only read konnte nicht verschoben werden: dafür ist die Rolle Mitglied nötig';
    await theirs.waitForSelector(toast(words));
    expect([await told(theirs), await columnsOf(id, theirs)]).toEqual([[words, words], ['todo']]);
    await theirs.context().close();
  });

  it('keeps its newest state, in whatever order answers come', async () => {
    const [moved, changed] = [await newCard('Moved by two'), await newCard('Changed twice')];
    const move = await hold('**/move');
    await page.focus(`#card-${moved}`);
    await page.keyboard.press('Shift+ArrowRight');
    await move.ready;
    await change(moved, { status: 'blocked' });
    await caughtUp();
    await move.release();
    await comesTo(moved, 'blocked');
    const older = await hold(`**/board/part/cards*${changed}*`);
    await change(changed, { priority: 'low', status: 'in_progress' });
    await older.ready;
    await change(changed, { priority: 'critical', status: 'in_review' });
    await page.waitForSelector(`[data-column=in_review] #card-${changed} [data-priority=critical]`);
    await older.release();
    await caughtUp();
    expect([await columnsOf(moved), await columnsOf(changed), thrown]).toEqual([
      ['blocked'],
      ['in_review'],
      [],
    ]);
  });

  it('that is moved several times by keyboard gets there, one column after the other', async () => {
    const id = await newCard('In a hurry', 'backlog');
    await page.focus(`#card-${id}`);
    for (let step = 0; step < 3; step++) await page.keyboard.press('Shift+ArrowRight');
    await page.waitForSelector('#board-said:has-text("In a hurry is now in review")', { state: 'attached' });
    await caughtUp();
    expect(await columnsOf(id)).toEqual(['in_review']);
    expect(await page.evaluate('document.activeElement.id')).toBe(`card-${id}`);
    // What has the focus disappears: the next one has it.
    await change(id, null);
    await comesTo(id, '');
    expect(await page.evaluate('document.activeElement.className')).toBe('issue-card');
  });

  it('that has the focus and is moved by somebody else leaves the board where it is', async () => {
    const id = await newCard('Left alone', 'cancelled');
    await page.setViewportSize({ width: 700, height: 900 });
    await page.focus(`#card-${id}`);
    const scrolled = async () => page.evaluate<number>('document.querySelector(".board").scrollLeft');
    const before = await scrolled();
    expect(before).toBeGreaterThan(300);
    await change(id, { status: 'backlog' });
    await comesTo(id, 'backlog');
    expect([await page.evaluate('document.activeElement.id'), await scrolled()]).toEqual([
      `card-${id}`,
      before,
    ]);
    // By one's own key the board follows.
    await page.keyboard.press('Shift+ArrowRight');
    await comesTo(id, 'todo');
    expect(await scrolled()).toBeLessThan(300);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it('that comes in place of the link to older ones takes over its focus', async () => {
    await transaction(database, async (tx) => {
      const company = { id: cast.company_id };
      for (let made = 0; made < OLD; made++) await createIssue(tx, company, { status: 'cancelled' });
    });
    await open(page);
    const cards = page.locator('[data-column=cancelled] .issue-card');
    const older = await hold('**/board/part/cancelled*');
    const last = (await cards.count()) - 1;
    await cards.nth(last).focus();
    await older.ready;
    const focused = async () => page.evaluate<string>('document.activeElement.className');
    for (const [key, name] of [
      ['ArrowDown', 'more-cards'],
      ['ArrowUp', 'issue-card'],
      ['ArrowDown', 'more-cards'],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused()).toContain(name);
    }
    await older.release();
    await waitFor(async () => (await cards.count()) === OLD, { what: 'older cards' });
    const at = async () =>
      page.evaluate<number>(
        `[...document.querySelectorAll('[data-column=cancelled] .issue-card')].indexOf(document.activeElement)`,
      );
    expect(await at()).toBe(last + 1);
    await page.keyboard.press('ArrowDown');
    expect(await at()).toBe(last + 2);
  });
});

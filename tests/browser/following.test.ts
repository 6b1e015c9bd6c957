/** What open pages hear of a stream that is replaced, by whoever signs in next or after a gap; and what they do where no answer comes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import type { BrowserContext, Page } from 'playwright-core';
import { transaction } from '@acp/db';
import { type Cast, person, type Person, sessionOf } from '../http/cast.ts';
import { inBrowser, without } from './chromium.ts';
import { showPages, type Shown } from './shown.ts';

/** A stream that a browser has opened. */
interface Opened {
  after: number;
  session: string;
  response: ServerResponse;
}

inBrowser(`an open page${without}`, () => {
  let shown: Shown;
  let context: BrowserContext;
  let cast: Cast;
  /** Those that are open now. */
  const streams: Opened[] = [];
  /** Sessions that get none. */
  const refused = new Set<string>();

  beforeAll(async () => {
    shown = await showPages({
      serve: (pages) => (request, response) => {
        if (request.url?.startsWith('/api/live/events') !== true) return pages(request, response);
        follow(request, response);
      },
    });
    ({ cast } = shown);
    context = await shown.windowOf(cast.admin);
  });

  afterEach(async () => {
    for (const page of context.pages()) await page.close();
    await waitFor(() => streams.length === 0);
    await signIn(cast.admin);
  });

  afterAll(() => shown?.close());

  /** In place of the service's stream, so that the test says what arrives. */
  const follow = (request: IncomingMessage, response: ServerResponse): void => {
    const { searchParams } = new URL(request.url!, shown.origin);
    const session = /service_session=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '';
    if (refused.has(session)) return void response.writeHead(404).end();
    const opened = { after: Number(searchParams.get('after')), session, response };
    streams.push(opened);
    response.on('close', () => streams.splice(streams.indexOf(opened), 1));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 100\n\n');
  };
  const tell = (stream: Opened, seq: number, type = 'inbox_changed', data: object = {}): void => {
    stream.response.write(`id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ data })}\n\n`);
  };
  const signIn = async (reader: Person): Promise<void> => shown.signIn(context, reader);
  /** @returns the id of what it has made */
  const post = async (path: string, data: object): Promise<string> => {
    const response = await context.request.post(path, { data });
    expect([path, response.ok()]).toEqual([path, true]);
    return ((await response.json()) as { id: string }).id;
  };
  const open = async (path: string): Promise<Page> => {
    const page = await context.newPage();
    await page.addInitScript(`
      globalThis.heard = [];
      document.addEventListener('live', ({ detail }) => heard.push(detail.data.n));
      document.addEventListener('live-reset', () => heard.push('reset'));`);
    await page.goto(path);
    await page.waitForSelector('[data-script=ready]', { state: 'attached' });
    return page;
  };
  const heard = async (page: Page): Promise<unknown[]> => page.evaluate<unknown[]>('heard');
  const agents = () => `/companies/${cast.company_id}/agents`;

  it('hears nothing that is meant for whoever was signed in before, in this browser, and everything that is meant for its reader', async () => {
    await open(agents());
    const [former] = await waitFor(() => streams.length === 1 && streams);
    await signIn(cast.member);
    const page = await open(agents());
    const own = await waitFor(() => streams.find(({ session }) => session === sessionOf(cast.member)));
    tell(former!, 1_000_001, 'inbox_changed', { n: 'for the admin' });
    tell(own, 1_000_002, 'inbox_changed', { n: 'for the member' });
    await waitFor(async () => (await heard(page)).length > 0);
    expect(await heard(page)).toEqual(['for the member']);
  });

  it('learns that it has missed something, although another page of the company went on', async () => {
    const [stays, leaves] = [await open(agents()), await open(agents())];
    const [stream] = await waitFor(() => streams.length === 1 && streams);
    tell(stream!, 1_000_001, 'inbox_changed', { n: 1 });
    await waitFor(async () => (await heard(leaves)).length > 0);
    await leaves.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    // What was between has been too much.
    stream!.response.write('id: 1000500\nevent: reset\ndata: {}\n\n');
    await waitFor(async () => (await heard(stays)).includes('reset'));
    await leaves.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await waitFor(async () => (await heard(leaves)).includes('reset'));
    // Once: who comes back to the tab has missed nothing since.
    for (const page of [stays, leaves])
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    tell(stream!, 1_000_501, 'inbox_changed', { n: 2 });
    for (const page of [stays, leaves]) {
      await waitFor(async () => (await heard(page)).includes(2));
      expect(await heard(page)).toEqual([1, 'reset', 2]);
    }
  });

  it('says that it is not to be had any more to whoever is no member any more', async () => {
    const leaving = await transaction(shown.database, async (tx) =>
      person(tx, 'member', cast.company_id, 'member'),
    );
    await signIn(leaving);
    const page = await open(agents());
    const own = await waitFor(() => streams.find(({ session }) => session === sessionOf(leaving)));
    const member = `/api/companies/${cast.company_id}/members/${leaving.user_id}`;
    const removed = await fetch(`${shown.origin}${member}`, {
      method: 'DELETE',
      headers: cast.admin.headers,
    });
    expect(removed.status).toBe(204);
    refused.add(own.session);
    own.response.end();
    await page.waitForSelector('[data-gone]:has-text("you may not see it any more")');
  });

  it('shows the list of issues anew once too much has happened to be told', async () => {
    const page = await open(`/companies/${cast.company_id}/issues`);
    const [stream] = await waitFor(() => streams.length === 1 && streams);
    await post(`/api/companies/${cast.company_id}/issues`, { title: 'Made meanwhile' });
    stream!.response.write('id: 1000500\nevent: reset\ndata: {}\n\n');
    await page.waitForSelector('tbody tr:has-text("Made meanwhile")');
    expect(await page.locator('[data-new-issues]').isVisible()).toBe(false);
  });

  it('shows what was chosen in a row of the list as soon as the service answers again', async () => {
    const issue = await post(`/api/companies/${cast.company_id}/issues`, { title: 'Chosen' });
    const page = await open(`/companies/${cast.company_id}/issues`);
    let lost = 2;
    await page.route(`**/issues/part/rows*${issue}*`, async (route) =>
      lost-- > 0 ? route.abort() : route.continue(),
    );
    const status = page.locator(`[data-issue="${issue}"] [data-edit=status]`);
    await status.click();
    await page.locator(`[data-issue="${issue}"] select`).selectOption('blocked');
    await page.waitForSelector(`[data-issue="${issue}"] [data-edit=status][data-value=blocked]`);
    expect(lost).toBeLessThan(0);
  });

  it('loads a folded text once, however often its fold is opened meanwhile', async () => {
    const body_markdown = 'One paragraph.\n\n'.repeat(16_000);
    const issue = await post(`/api/companies/${cast.company_id}/issues`, { title: 'Long' });
    await post(`/api/issues/${issue}/comments`, { body_markdown });
    const page = await open(`/issues/${issue}`);
    const source = (await page.getAttribute('details[data-text]', 'data-text'))!;
    const answer = Promise.withResolvers<void>();
    let asked = 0;
    await page.route(`**${source}`, async (route) => {
      asked += 1;
      // The first one is lost.
      if (asked === 1) return route.abort();
      await answer.promise;
      return route.continue();
    });
    const fold = page.locator('details.folded > summary');
    for (let click = 0; click < 5; click++) {
      await fold.click();
      await page.evaluate('new Promise(requestAnimationFrame).then(() => null)');
    }
    answer.resolve();
    await page.waitForSelector('details.folded pre');
    expect(await page.locator('details.folded pre').count()).toBe(1);
    expect(await page.locator('details.folded > p:has(a)').count()).toBe(0);
    expect(asked).toBe(2);
  });

  it('says that nothing has changed if a proxy answers in place of the service', async () => {
    const page = await open(`/companies/${cast.company_id}/portability`);
    const form = page.locator('form[data-preview]').first();
    await form.locator('input[type=file]').setInputFiles({
      name: 'bundle.json',
      mimeType: 'application/json',
      buffer: Buffer.from('{}'),
    });
    const outcome = (await form.getAttribute('data-preview'))!;
    await page.route('**/import', async (route) =>
      route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' }),
    );
    await form.locator('button[value=preview]').click();
    await page.waitForSelector(`${outcome}:has-text("The service could not be reached")`);
    expect(await page.textContent(outcome)).not.toContain('null');
  });
});

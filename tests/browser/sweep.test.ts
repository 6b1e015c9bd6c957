/**
 * Every registered page, on a phone in light mode in German, whose words are longer, and on a desktop in dark mode: nothing
 * too wide, nothing that axe rates serious, nothing too small for a finger, and no English shown to a German reader.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  createAgent,
  createApproval,
  createBudgetPolicy,
  createIssue,
  createRoutine,
  createTrigger,
  findBudgetIncident,
  fireRoutine,
  listBudgetIncidents,
  mintBoardUserKey,
  reportCost,
  resolveBudgetIncident,
  systemActor,
} from '@acp/core';
import { type Database, transaction, type Tx } from '@acp/db';
import { Vault } from '@acp/kernel';
import type { Browser, Page } from 'playwright-core';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { type Cast, createCast, sessionOf } from '../http/cast.ts';
import { startPages } from '../http/pages.ts';
import { createStage, isPart, pathOn, type Stage } from '../http/stage.ts';
import {
  bringAxe,
  cutWords,
  englishTexts,
  excessWhenNarrow,
  excessWidth,
  inBrowser,
  launchBrowser,
  nameless,
  plainText,
  RULES_OF_LOOKS,
  seriousFaults,
  smallTargets,
  without,
} from './chromium.ts';

const paths = uiPages.flatMap((route) =>
  route.kind === 'page' && !isPart(route.path) ? [[route.path, route] as const] : [],
);

const screens = [
  { viewport: { width: 390, height: 800 }, colorScheme: 'light', locale: 'de', hasTouch: true },
  { viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
] as const;

/** Adds spending by the agent, and its budgets: one exhausted, one that was waived with a long note. */
async function fillCosts(tx: Tx, company_id: string, agent_id: string, long: string): Promise<void> {
  const director = systemActor('tests');
  const entry = { agent_id, provider: long.slice(0, 150), model: long.slice(0, 150), cost_usd: 12_345_678.9 };
  await reportCost(tx, director, company_id, entry);
  for (const window of ['week', 'month'] as const)
    await createBudgetPolicy(tx, director, company_id, {
      scope_type: 'agent',
      scope_id: agent_id,
      window,
      limit_usd: 100_000,
    });
  const [open] = (await listBudgetIncidents(tx, company_id, { status: 'open', limit: 1 })).items;
  const incident = await findBudgetIncident(tx, open!.id);
  await resolveBudgetIncident(tx, director, incident!, { note: long });
}

const LABEL = 'From the shop';

/** Adds the longest names that people and agents use, with and without a place to break. */
async function fill(database: Database, { company_id }: Cast, { routineId }: Stage): Promise<void> {
  const director = systemActor('tests');
  const staged = { id: routineId!, company_id, assignee_agent_id: null };
  const long = 'Measure checkout exits per visitor, ask five buyers which step went badly. '.repeat(2);
  const unbroken = 'a-very-long-name-'.repeat(12).replaceAll('-', '_');
  await transaction(database, async (tx) => {
    for (const title of [long, unbroken]) {
      await createIssue(tx, director, company_id, { title, status: 'in_progress', body_markdown: title });
      await createApproval(tx, director, company_id, { type: 'plan', title, payload: { [unbroken]: title } });
      const named = { name: title.slice(0, 150), title: long };
      const agent = (await createAgent(tx, director, company_id, named)) as { id: string };
      await fillCosts(tx, company_id, agent.id, title);
      await mintBoardUserKey(tx, director, company_id, { role: 'viewer', label: title.slice(0, 150) });
      await createRoutine(tx, director, company_id, { name: title });
      const label = title.slice(0, 150);
      const schedule = { kind: 'schedule', cron_expression: '*/5 0-23/2 * * mon-fri', label } as const;
      const timezone = 'America/Argentina/ComodRivadavia';
      await createTrigger(tx, director, staged, { ...schedule, timezone }, new Vault(null));
      await fireRoutine(tx, director, staged, { payload: { [unbroken]: title } });
    }
  });
}

/** All texts stored in the database, row by row. */
async function allWritten(database: Database): Promise<string> {
  const { rows: columns } = await database.pool.query<{ from: string; text: string }>(
    `select quote_ident(table_name) as from, string_agg(quote_ident(column_name) || '::text', ', ') as text
      from information_schema.columns where table_schema = 'public' and data_type in ('text', 'jsonb') group by table_name`,
  );
  const parts = columns.map(({ from, text }) => `select concat_ws(E'\\n', ${text}) as written from ${from}`);
  const { rows } = await database.pool.query<{ written: string }>(parts.join(' union all '));
  return rows.map(({ written }) => written.replaceAll(/\s+/g, ' ')).join('\n');
}

inBrowser(`every page in a real browser${without}`, () => {
  let server: Server;
  let origin: string;
  let browser: Browser;
  let stage: Stage;
  let written: string;
  const open: Page[] = [];

  beforeAll(async () => {
    const { app, database } = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) });
    const cast = await createCast(database);
    stage = await createStage(database, cast);
    await fill(database, cast, stage);
    // One of the tests writes a label itself.
    written = plainText(`${await allWritten(database)}\n${LABEL}`);
    server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchBrowser();
    const value = sessionOf(cast.instance_admin);
    for (const screen of screens) {
      const context = await browser.newContext(screen);
      await context.addCookies([{ name: 'service_session', value, url: origin }]);
      await bringAxe(context);
      open.push(await context.newPage());
    }
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  it.each(paths)(
    '%s is as wide as its window, cuts no word, and is for everybody to use',
    async (_path, route) => {
      for (const [index, page] of open.entries()) {
        const answer = await page.goto(origin + pathOn(stage, route), { waitUntil: 'load' });
        expect(answer?.status()).toBe(200);
        expect(await excessWidth(page)).toBe(0);
        expect(await cutWords(page)).toEqual([]);
        expect(index === 0 ? await englishTexts(page, written) : []).toEqual([]);
        expect(index === 0 ? await smallTargets(page) : []).toEqual([]);
        expect(index === 0 ? await nameless(page) : []).toEqual([]);
        expect(index === 0 ? await excessWhenNarrow(page) : [0, 0]).toEqual([0, 0]);
        // Apart from its looks the document is the same on every screen.
        expect(await seriousFaults(page, index === 0 ? undefined : RULES_OF_LOOKS)).toEqual([]);
      }
    },
  );

  it('a routine unfolds within the window, and so does the secret of its new webhook', async () => {
    for (const [index, page] of open.entries()) {
      await page.goto(`${origin}/routines/${stage.routineId}`, { waitUntil: 'load' });
      await page.evaluate("for (const fold of document.querySelectorAll('main details')) fold.open = true");
      expect(await excessWidth(page)).toBe(0);
      expect(await seriousFaults(page)).toEqual([]);
      await page.click('form:has(#f-label-schedule) [data-cron="0 9 * * 1-5"]');
      await page.waitForSelector(
        index === 0
          ? '[data-said]:has-text("Um 09:00, Montag bis Freitag")'
          : '[data-said]:has-text("At 09:00, Monday through Friday")',
      );
      expect(await excessWidth(page)).toBe(0);
      await page.selectOption('#f-signing_mode-webhook', 'hmac_ts');
      await page.fill('#f-label-webhook', LABEL);
      await page.click('form:has(#f-signing_mode-webhook) button');
      expect(await page.textContent('.once')).toContain(
        index === 0 ? 'nur dieses eine Mal' : 'shown only once',
      );
      expect(await page.textContent('.triggers')).toContain('X-Service-Timestamp');
      expect(await excessWidth(page)).toBe(0);
      expect(await seriousFaults(page)).toEqual([]);
    }
  });

  it('the days of the costs unfold within the window', async () => {
    for (const page of open) {
      await page.goto(`${origin}/companies/${stage.companyId}/costs`, { waitUntil: 'load' });
      await page.click('main details > summary');
      expect(await page.isVisible('main details table')).toBe(true);
      expect(await excessWidth(page)).toBe(0);
      expect(await seriousFaults(page)).toEqual([]);
    }
  });

  it('the menu of a phone unfolds by keyboard, and a desk shows the sections beside the page', async () => {
    const [phone, desk] = open;
    const company = `${origin}/companies/${stage.companyId}`;
    await phone!.goto(company);
    expect(await phone!.isVisible('.sections')).toBe(false);
    await phone!.focus('.menu summary');
    await phone!.keyboard.press('Enter');
    expect(await phone!.isVisible('.sections a[aria-current=page]')).toBe(true);
    expect(await excessWidth(phone!)).toBe(0);
    expect(await seriousFaults(phone!)).toEqual([]);
    await desk!.goto(company);
    expect(await desk!.isVisible('.menu')).toBe(false);
    expect(await desk!.textContent('.sections a[aria-current=page]')).toContain('Dashboard');
  });

  it('rare sections unfold by keyboard and by finger, and stay so on the next pages of that browser', async () => {
    const [phone, desk] = open;
    const company = `${origin}/companies/${stage.companyId}`;
    const fold = '[data-section=integrations]';
    for (const page of [phone!, desk!]) {
      const unfold = async (): Promise<void> => {
        await page.waitForSelector('html[data-script=ready]');
        if (page === phone) await page.tap('.menu summary');
        if (page === phone) return page.tap(`${fold} summary`);
        await page.focus(`${fold} summary`);
        return page.keyboard.press('Enter');
      };
      // What a page unfolds by itself is not remembered.
      await page.goto(`${company}/webhooks`);
      await page.goto(company);
      expect(await page.getAttribute(fold, 'open')).toBeNull();
      await unfold();
      expect(await page.isVisible(`${fold} a`)).toBe(true);
      expect(page === phone ? await smallTargets(page) : []).toEqual([]);
      expect(await seriousFaults(page)).toEqual([]);
      await page.goto(`${company}/board`);
      expect(await page.getAttribute(fold, 'open')).toBe('');
      await unfold();
      await page.goto(company);
      expect(await page.getAttribute(fold, 'open')).toBeNull();
    }
  });

  it('sections unfold without script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    await context.addCookies(await open[1]!.context().cookies());
    const page = await context.newPage();
    await page.goto(`${origin}/companies/${stage.companyId}`);
    await page.click('[data-section=integrations] summary');
    await page.click('[data-section=integrations] a >> text=Webhooks');
    expect(await page.isVisible('[data-section=integrations] a[aria-current=page]')).toBe(true);
    await context.close();
  });
});

/** A company with the longest names that people and agents use, for tests that look at every page in a browser. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { type Cast, createCast, sessionOf } from '../http/cast.ts';
import { startPages } from '../http/pages.ts';
import { createStage, isPart, type Stage } from '../http/stage.ts';
import { bringAxe, launchBrowser, plainText } from './chromium.ts';

/** Every registered page, parts of pages left out. */
export const everyPage = uiPages.flatMap((route) =>
  route.kind === 'page' && !isPart(route.path) ? [[route.path, route] as const] : [],
);

/** German, whose words are longer. */
export const PHONE = {
  viewport: { width: 390, height: 800 },
  colorScheme: 'light',
  locale: 'de',
  hasTouch: true,
} as const;
export const DESK = { viewport: { width: 1440, height: 900 }, colorScheme: 'dark' } as const;

/** A web tier, and a browser in which its instance admin is signed in. */
export interface Sweep {
  origin: string;
  browser: Browser;
  stage: Stage;
  /** What people and agents wrote: no words of the pages' own. */
  written: string;
  open(screen: BrowserContextOptions): Promise<Page>;
  stop(): Promise<void>;
}

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

/** A text that a test writes into a page. */
export const LABEL = 'From the shop';

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

export async function startSweep(): Promise<Sweep> {
  const { app, database } = await startPages({ SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32) });
  const cast = await createCast(database);
  const stage = await createStage(database, cast);
  await fill(database, cast, stage);
  const written = plainText(`${await allWritten(database)}\n${LABEL}`);
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser = await launchBrowser();
  const value = sessionOf(cast.instance_admin);
  return {
    origin,
    browser,
    stage,
    written,
    async open(screen) {
      const context = await browser.newContext(screen);
      await context.addCookies([{ name: 'service_session', value, url: origin }]);
      await bringAxe(context);
      return context.newPage();
    },
    async stop() {
      await browser.close();
      server.close();
    },
  };
}

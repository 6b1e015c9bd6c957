/**
 * `npm run screenshots`: every page of a busy company in chromium, in light and dark mode, on a desk and a phone, into a folder
 * (`--out`, by default `.build/screenshots`), with the cost of each: server milliseconds and compressed bytes.
 * `--only=board,runs` selects the pages whose path contains one of the words; `--screens=phone` one of the four,
 * `--interactions` measures instead how long everyday acts take with the CPU slowed down four times, `--language=de` selects
 * a language other than English, `--figures` takes no pictures, `--whole` captures whole pages instead of the first screen.
 */
import { mkdirSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { flagNames, pathParams } from '@acp/contract';
import { putFlag, systemActor } from '@acp/core';
import { type Database, transaction } from '@acp/db';
import {
  cloneDatabase,
  closeTestDatabases,
  startService,
  startTestServer,
  stopTestServer,
} from '@acp/testkit';
import { uiPages } from '../../apps/web/src/ui/pages.ts';
import { launchBrowser } from '../../tests/browser/launch-browser.ts';
import { type Cast, createCast, sessionOf } from '../../tests/http/cast.ts';
import { createStage, isPart, pathOn } from '../../tests/http/stage.ts';
import { languageFiles } from '../messages/language-files.ts';
import { findBusiest, fillCompany } from './busy-company.ts';
import { measureInteractions } from './interactions.ts';

/** Most that a page may take of the server, in milliseconds, and of the network, in bytes compressed. */
const MAX_MS = 60;
const MAX_BYTES = 100_000;
const REPEATS = 5;

/** Pixels by which each table that scrolls sideways is cut: what is beyond is easily missed. */
const CUT_TABLES = `[...document.querySelectorAll('.scroll-x')]
  .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth).filter((excess) => excess > 0)`;

const screens = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light', hasTouch: true },
  'dark-phone': { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true },
} as const;

interface Shot {
  name: string;
  url: string;
}

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: '.build/screenshots' },
    only: { type: 'string' },
    screens: { type: 'string', default: Object.keys(screens).join(',') },
    language: { type: 'string', default: 'en' },
    figures: { type: 'boolean', default: false },
    interactions: { type: 'boolean', default: false },
    whole: { type: 'boolean', default: false },
  },
});

assertKnown();
await startTestServer({ durable: true });
try {
  await takeAll();
} finally {
  await closeTestDatabases();
  await stopTestServer();
}

/** Before anything is started: an option that chooses nothing would end as if all had gone well. */
function assertKnown(): void {
  for (const screen of values.screens.split(','))
    if (!Object.hasOwn(screens, screen))
      throw new Error(`--screens takes ${Object.keys(screens).join(', ')}: ${screen}`);
  const languages = ['en', ...languageFiles().map((file) => path.basename(file, '.po'))];
  if (!languages.includes(values.language))
    throw new Error(`--language takes ${languages.join(', ')}: ${values.language}`);
  for (const word of values.only?.split(',') ?? [])
    if (!uiPages.some(({ kind, path: at }) => kind === 'page' && at.includes(word)))
      throw new Error(`--only: no page has ${word} in its path`);
}

async function takeAll(): Promise<void> {
  const { database, url } = await cloneDatabase('screenshots');
  const cast = await createCast(database);
  await switchAllOn(database);
  const staged = await createStage(database, cast);
  await fillCompany(database, cast.company_id, cast.agent_id);
  const busiest = { ...staged, ...(await findBusiest(database, cast.company_id)) };
  const service = await startService({
    DATABASE_URL: url,
    SERVICE_ROLE: 'web',
    SERVICE_ENCRYPTION_KEY: 'ab'.repeat(32),
    RATE_LIMIT_RPM: '0',
  });
  try {
    if (values.interactions) {
      const browser = await launchBrowser();
      await measureInteractions(browser, {
        origin: service.url,
        company: `/companies/${cast.company_id}`,
        issue: `/issues/${busiest.issueId!}`,
        session: sessionOf(cast.instance_admin),
      });
      return await browser.close();
    }
    // No scheduler is running that could query a provider for its models.
    const left_out = '/providers/{providerId}/connect';
    const pages = uiPages.filter(({ kind, path: at }) => kind === 'page' && !isPart(at) && at !== left_out);
    const shots = pages
      .filter((page) => isWanted(page.path))
      .map((page) => ({
        name: nameOf(page.path),
        url: service.url + pathOn(isOfOne(page.path) ? busiest : staged, page),
      }));
    await printFigures(cast, shots);
    if (!values.figures) await takePictures(cast, shots);
  } finally {
    await service.stop();
  }
}

function isWanted(page: string): boolean {
  return values.only === undefined || values.only.split(',').some((word) => page.includes(word));
}

/** Pages of a disabled feature do not exist. */
async function switchAllOn(database: Database): Promise<void> {
  await transaction(database, async (tx) => {
    for (const name of flagNames) await putFlag(tx, systemActor('screenshots'), name, { value: true });
  });
}

/** Whether the page is nested within one of the staged entities. */
function isOfOne(page: string): boolean {
  return pathParams(page).length === 1;
}

function nameOf(page: string): string {
  return page.replaceAll(/[/:{}]+/g, '-').replaceAll(/^-|-$/g, '') || 'home';
}

async function printFigures(cast: Cast, shots: readonly Shot[]): Promise<void> {
  for (const { name, url } of shots) {
    const times: number[] = [];
    let bytes = 0;
    for (let n = 0; n <= REPEATS; n += 1) {
      const asked = performance.now();
      bytes = await load(cast, url);
      // Skips the first request: the process has never rendered this page.
      if (n > 0) times.push(performance.now() - asked);
    }
    const median = times.toSorted((a, b) => a - b)[Math.floor(REPEATS / 2)]!;
    const over = median > MAX_MS || bytes > MAX_BYTES ? '  <- over' : '';
    console.log(
      `${median.toFixed(0).padStart(5)} ms ${(bytes / 1000).toFixed(1).padStart(7)} kB  ${name}${over}`,
    );
  }
}

/** @returns the page's bytes on the wire */
function load(cast: Cast, url: string): Promise<number> {
  const headers = {
    Cookie: cast.instance_admin.headers.Cookie,
    'Accept-Encoding': 'br, gzip',
    'Accept-Language': values.language,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (answer) => {
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => (bytes += chunk.length));
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve(bytes) : reject(new Error(`${url} answers ${answer.statusCode}`)),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function takePictures(cast: Cast, shots: readonly Shot[]): Promise<void> {
  mkdirSync(values.out, { recursive: true });
  const browser = await launchBrowser();
  try {
    for (const [screen, options] of Object.entries(screens)) {
      if (!values.screens.split(',').includes(screen)) continue;
      const context = await browser.newContext({ ...options, locale: values.language });
      const page = await context.newPage();
      for (const { name, url } of shots) {
        await context.addCookies([{ name: 'service_session', value: sessionOf(cast.instance_admin), url }]);
        await page.goto(url, { waitUntil: 'load', timeout: 60_000 });
        for (const excess of await page.evaluate<number[]>(CUT_TABLES))
          console.log(`${name}, ${screen}: a table is ${excess} px wider than its place`);
        await page.screenshot({
          path: path.join(values.out, `${name}.${screen}.png`),
          fullPage: values.whole,
        });
      }
      await context.close();
    }
    console.log(`${shots.length} pages, on ${values.screens}: ${values.out}`);
  } finally {
    await browser.close();
  }
}

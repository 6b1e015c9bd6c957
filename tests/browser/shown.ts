/** The pages, served to a browser: what most of these tests begin with. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Database } from '@acp/db';
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { type Cast, createCast, type Person, sessionOf } from '../http/cast.ts';
import { startPages } from '../http/pages.ts';
import { launchBrowser } from './launch-browser.ts';

export interface Shown {
  database: Database;
  cast: Cast;
  origin: string;
  browser: Browser;
  /** A window of its own in which the person is signed in. */
  windowOf: (person: Person, options?: BrowserContextOptions) => Promise<BrowserContext>;
  /** In a window that somebody else may have been using. */
  signIn: (context: BrowserContext, person: Person) => Promise<void>;
  close: () => Promise<void>;
}

interface ShownOptions {
  env?: Record<string, string>;
  /** What answers in front of the pages. */
  serve?: (pages: RequestListener) => RequestListener;
}

export async function showPages({ env, serve = (pages) => pages }: ShownOptions = {}): Promise<Shown> {
  const { app, database } = await startPages(env);
  const cast = await createCast(database);
  const server = createServer(serve(app)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser = await launchBrowser();
  const signIn: Shown['signIn'] = async (context, person) =>
    context.addCookies([{ name: 'service_session', value: sessionOf(person), url: origin }]);
  return {
    database,
    cast,
    origin,
    browser,
    signIn,
    windowOf: async (person, options) => {
      const context = await browser.newContext({ baseURL: origin, ...options });
      await signIn(context, person);
      return context;
    },
    close: async () => {
      await browser.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The web tier with its pages, and a browser that keeps cookies. */
import { createCredentials, dropRevokedImmediately } from '../../apps/web/src/http/credentials.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { uiRouter } from '../../apps/web/src/ui/router.ts';
import type { Database } from '@acp/db';
import { createLogger, loadConfig } from '@acp/kernel';
import { databaseWithQueue, testDatabase } from '@acp/testkit';
import type { Express } from 'express';
import { Writable } from 'node:stream';
import request from 'supertest';
import { type Person, sessionOf } from './cast.ts';

export const PUBLIC_URL = 'http://localhost:3100';

export interface Pages {
  app: Express;
  database: Database;
  /** Writes the accumulated uses and refusals. */
  flush(): Promise<void>;
  /** Empties the cache, so that every known session is looked up again. */
  forget(): void;
}

/** @param env replaces the environment; log lines are appended to `log` */
export async function startPages(env: Record<string, string> = {}, log?: string[]): Promise<Pages> {
  const kit = await testDatabase();
  const database = await databaseWithQueue();
  const stream = new Writable({
    write(line, _encoding, done) {
      log?.push(String(line));
      done();
    },
  });
  const level = log ? 'info' : 'error';
  const logger = createLogger({ level, format: 'json', role: 'test', stream: log ? stream : process.stdout });
  const config = loadConfig({ RATE_LIMIT_RPM: '0', SERVICE_PUBLIC_URL: PUBLIC_URL, ...env });
  const credentials = createCredentials({ database, logger });
  // Several apps of one file share the database: each is notified.
  database.notifier = dropRevokedImmediately(database.notifier ?? kit.notifier, credentials);
  const ui = uiRouter({ config, database, credentials, logger });
  const app = createApp({ database, logger, config, credentials, ui });
  return { app, database, flush: () => credentials.flush(), forget: () => credentials.drop(['*']) };
}

export class Browser {
  readonly #app: Express;
  readonly cookies = new Map<string, string>();
  /** As set by the server, with its flags. */
  lastSetCookie: string[] = [];

  constructor(app: Express) {
    this.#app = app;
  }

  /** A browser in which the person has signed in. */
  static of(app: Express, person: Person): Browser {
    const browser = new Browser(app);
    browser.cookies.set('service_session', sessionOf(person));
    return browser;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<request.Response> {
    return this.#keep(await request(this.#app).get(path).set(this.#headers()).set(headers));
  }

  async post(
    path: string,
    form: Readonly<Record<string, string | readonly string[]>> = {},
    headers: Record<string, string> = {},
  ): Promise<request.Response> {
    const sent = request(this.#app).post(path).type('form').set(this.#headers()).set(headers);
    const fields = new URLSearchParams();
    for (const [name, value] of Object.entries(form))
      for (const each of [value].flat()) fields.append(name, each);
    return this.#keep(await sent.send(fields.toString()));
  }

  /** Calls the API with the browser's cookies. */
  async api(
    method: 'get' | 'post' | 'patch' | 'delete',
    path: string,
    body?: object,
  ): Promise<request.Response> {
    const sent = request(this.#app)[method](path).set(this.#headers());
    return body === undefined ? sent : sent.send(body);
  }

  /** A script's request: like `api`, but cookies are kept. */
  async json(path: string, body: object): Promise<request.Response> {
    return this.#keep(await request(this.#app).post(path).set(this.#headers()).send(body));
  }

  #headers(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { 'Sec-Fetch-Site': 'same-origin', ...(cookie === '' ? {} : { Cookie: cookie }) };
  }

  #keep(response: request.Response): request.Response {
    const lines = (response.headers['set-cookie'] ?? []) as unknown as string[];
    this.lastSetCookie = [...lines];
    for (const line of lines) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === '') this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    return response;
  }
}

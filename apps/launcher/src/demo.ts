/**
 * `npm run demo`: both tiers as separate processes in a temporary home, and a company whose agents work through a handful of
 * issues, narrated live; finally their knowledge is compiled into one page, and one of them is asked in a chat what was
 * decided. With `--exit` it ends with status 0 only once every issue is done, the page exists and the question is answered.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import path from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { childEnvironment, ConfigError, loadConfig, newToken, ONE_WISH_MS, type Config } from '@acp/kernel';
import { askInChat, untilKnown } from './demo/chat.ts';
import { Client } from './demo/client.ts';
import {
  conveneDemoCouncil,
  createDemoCompany,
  createDemoIssues,
  listDemoIssues,
  type DemoCompany,
} from './demo/company.ts';
import { compileDemoIndex } from './demo/compiled-index.ts';
import { Narrator } from './demo/narrator.ts';
import { Stage, TierEnded } from './demo/stage.ts';

const EXIT_CONFIG = 78;
/** Time limit for `--exit`; otherwise people decide. */
const TIME_LIMIT_MS = 120_000;
const LOOK_MS = 500;
const EMAIL = 'admin@demo.test';

const say = (line = ''): void => console.log(line);
const complain = (message: string): void => say(styleText('red', message));

/** Starts both tiers and, if no model is configured, the scripted one; returns signed in. */
async function startService(
  stage: Stage,
  config: Config,
): Promise<{ client: Client; url: string; password: string }> {
  const password = newToken().slice(0, 16);
  const shared = {
    SERVICE_HOME: stage.home,
    SERVICE_HOST: '127.0.0.1',
    SERVICE_BOOTSTRAP_ADMIN_EMAIL: EMAIL,
    SERVICE_BOOTSTRAP_ADMIN_PASSWORD: password,
    // The demo's own: nothing configured for a real instance may be touched.
    DATABASE_URL: undefined,
    DATABASE_DIRECT_URL: undefined,
    RATE_LIMIT_RPM: '0',
    SERVICE_RUN_LEASE_SEC: '10',
    SERVICE_DRAIN_TIMEOUT_SEC: '5',
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'json',
    ...(await model(stage, config)),
  };
  const tier = (env: Record<string, string>): Promise<string> =>
    stage.startTier(env.SERVICE_ROLE!, childEnvironment({ ...shared, ...env }), complain);
  const web = (port: number): Promise<string> =>
    tier({ SERVICE_ROLE: 'web', PORT: String(port), SERVICE_PUBLIC_URL: `http://127.0.0.1:${port}` });
  const [url] = await Promise.all([
    web(config.port).catch(async (error: unknown) => {
      if (error instanceof TierEnded && error.port_taken) return web(await freePort());
      throw error;
    }),
    tier({ SERVICE_ROLE: 'scheduler', PORT: '0' }),
  ]);
  const client = new Client(url);
  await client.signIn(EMAIL, password);
  return { client, url, password };
}

async function model(stage: Stage, config: Config): Promise<Record<string, string>> {
  const { default_llm_provider: provider, default_llm_model: name, default_llm_base_url: base } = config;
  if (provider !== null || name !== null || base !== null || config.default_llm_api_key !== null) {
    say(`Agents use the configured model${name === null ? '' : ` ${name}`}.`);
    return {};
  }
  const url = await stage.forkEndpoint(
    'scripted model',
    path.join(import.meta.dirname, 'demo/scripted-model.ts'),
  );
  say(`No SERVICE_DEFAULT_LLM_* is set: agents talk to a small scripted endpoint at ${url}.`);
  return {
    SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat',
    SERVICE_DEFAULT_LLM_BASE_URL: url,
    SERVICE_DEFAULT_LLM_MODEL: 'scripted-model',
    SERVICE_PROVIDER_EGRESS: 'any',
  };
}

/** Whether every issue is done. Checks the list rather than events, since events can be missed. */
async function allDone(client: Client, company: DemoCompany): Promise<boolean> {
  const issues = await listDemoIssues(client, company);
  return issues.length > 0 && issues.every(({ status }) => status === 'done');
}

async function untilDone(client: Client, company: DemoCompany, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    if (await allDone(client, company)) return true;
    await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

async function summary(client: Client, company: DemoCompany, narrator: Narrator): Promise<void> {
  const issues = await listDemoIssues(client, company);
  say();
  for (const { identifier, status, title, parent_issue_id: parent, assignee_agent_id: assignee } of issues) {
    const name = company.agents.find(({ id }) => id === assignee)?.name ?? 'nobody';
    const mark = status === 'done' ? styleText('green', 'done') : styleText('red', status);
    say(`${parent === null ? '' : '  '}${identifier}  ${mark}  ${title} (${name})`);
  }
  const { runs, failed, input_tokens: read, output_tokens: written, cost_usd: cost } = narrator.totals;
  const figures = `${read} input tokens, ${written} output, $${cost.toFixed(4)}`;
  say(`${runs} runs${failed > 0 ? `, ${failed} of them failed` : ''}; ${figures}.`);
}

async function play(stage: Stage, config: Config, exit: boolean, over: AbortSignal): Promise<number> {
  say('Starting an embedded PostgreSQL and both tiers …');
  const { client, url, password } = await startService(stage, config);
  const signIn = `${styleText('bold', `${url}/login`)}  as  ${EMAIL}  with password  ${password}`;
  say(`Up. Sign in at ${signIn}`);
  say();
  const company = await createDemoCompany(client);
  const narrator = new Narrator(company.agents, say);
  void narrator.follow(client.events(company.id, over));
  await createDemoIssues(client, company);
  await conveneDemoCouncil(client, company);
  const done = await untilDone(
    client,
    company,
    exit ? AbortSignal.any([over, AbortSignal.timeout(TIME_LIMIT_MS)]) : over,
  );
  if (over.aborted) return 1;
  await summary(client, company, narrator);
  if (!done) {
    say(styleText('red', `Not all issues are done after ${TIME_LIMIT_MS / 1000} s. The tiers' last words:`));
    say(stage.log());
    return 1;
  }
  await untilKnown(client, company, over);
  const name = company.agents[0]!.name;
  const index = await compileDemoIndex(client, company, over);
  say();
  say(`${name} compiles what the company knows, each statement with its source (${url}${index.path}):`);
  for (const { topic, text } of index.statements) say(`  ${styleText('bold', topic)}  ${text}`);
  if (index.statements.length === 0) say(styleText('red', 'It is not ready.'));
  const chat = await askInChat(client, company, over);
  say();
  say(`In a chat (${url}${chat.path}), ${name} is asked: ${chat.question}`);
  say(chat.answer === null ? styleText('red', 'There is no answer.') : `${name}: ${chat.answer}`);
  if (exit) return chat.answer === null || index.statements.length === 0 ? 1 : 0;
  say();
  say(`All done, and still up: ${signIn}\nCtrl-C ends it and leaves nothing behind.`);
  if (!over.aborted) await once(over, 'abort');
  return 0;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { exit: { type: 'boolean', default: false } } });
  const config = loadConfig();
  const stage = await Stage.open();
  const over = new AbortController();
  const interrupted = new Promise<number>((resolve) => {
    let toldAt = 0;
    const stop = (): void => {
      if (over.signal.aborted) {
        // A second Ctrl-C does not wait; the guard cleans up.
        if (performance.now() - toldAt > ONE_WISH_MS) process.exit(1);
        return;
      }
      toldAt = performance.now();
      over.abort();
      resolve(values.exit ? 1 : 0);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  });
  try {
    return await Promise.race([play(stage, config, values.exit, over.signal), stage.broken, interrupted]);
  } catch (error) {
    say(styleText('red', String(error)));
    say(stage.log());
    return 1;
  } finally {
    over.abort();
    await stage.close();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

try {
  process.exit(await main());
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exit(EXIT_CONFIG);
}

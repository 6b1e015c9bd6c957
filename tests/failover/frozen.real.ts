import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedPostgres } from '@acp/embedded-postgres';
import {
  killServices,
  signalProcessesIn,
  startFakeModel,
  startService,
  testLogger,
  waitFor,
} from '@acp/testkit';
import { type Api, baseEnv, createTeam, modelEnv, signIn } from '../process/api.ts';
import { startLoad } from '../process/load.ts';
import { startPooler } from './pooler.ts';
import { poolerProgram } from './programs.ts';
import { faultsOf, restOf } from './proof.ts';

const WRITERS = 8;
const LAST_WORK = 400;
/** Longer than a request can take: 20 s for a free connection, 35 s for the answer. */
const FROZEN_MS = 75_000;
const ANSWERED_MS = 57_000;
/** Before it, connections that were open are given up; after it, new ones are not made. */
const GIVEN_UP_MS = 40_000;
const BACK_MS = 15_000;
/** The pooler's `query_wait_timeout`, and a little. */
const POOLER_WAITS_MS = 18_000;
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await killServices();
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

interface Stage {
  folder: string;
  /** What the processes connect to. */
  env: Record<string, string>;
  /** The server's own address. */
  url: string;
  /** Within which requests end once the freeze is known. */
  refused_ms: number;
  freeze: (signal: 'SIGSTOP' | 'SIGCONT') => void;
}

async function startServer(): Promise<Stage> {
  const folder = await mkdtemp(path.join(tmpdir(), 'acp-frozen-'));
  cleanups.push(async () => rm(folder, { recursive: true, force: true }));
  const data_dir = path.join(folder, 'db');
  const server = await startEmbeddedPostgres({ data_dir, logger: testLogger() });
  cleanups.push(async () => server.stop());
  const freeze = (signal: NodeJS.Signals) => void signalProcessesIn(data_dir, signal);
  cleanups.push(async () => freeze('SIGCONT'));
  return { folder, env: { DATABASE_URL: server.url }, url: server.url, refused_ms: BACK_MS, freeze };
}

/** @param freezes which of the two */
async function startBehindPooler(freezes: 'server' | 'pooler'): Promise<Stage> {
  const server = await startServer();
  const pooler = await startPooler(poolerProgram()!, server.url);
  cleanups.push(async () => pooler.stop());
  cleanups.push(async () => pooler.signal('SIGCONT'));
  const env = { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: server.url };
  return {
    ...server,
    env,
    refused_ms: POOLER_WAITS_MS,
    freeze: freezes === 'server' ? server.freeze : (signal) => pooler.signal(signal),
  };
}

const stages: [string, () => Promise<Stage>][] = [['a server', startServer]];
if (poolerProgram() !== undefined)
  stages.push(
    ['a server behind PgBouncer', async () => startBehindPooler('server')],
    ['PgBouncer in front of a server', async () => startBehindPooler('pooler')],
  );

/** Records when each request began and how long it took, whatever came of it. */
function timed(api: Api, requests: { at: number; ms: number }[]): Api {
  return {
    ...api,
    send: async (...args) => {
      const at = performance.now();
      try {
        return await api.send(...args);
      } finally {
        requests.push({ at, ms: performance.now() - at });
      }
    },
  };
}

describe.each(stages)('%s that freezes under load, its connections open', (_name, start) => {
  it('keeps no request waiting beyond the limit, loses nothing acknowledged and doubles no run', async () => {
    const { folder, env: address, url, refused_ms, freeze } = await start();
    const model = await startFakeModel({ script: () => ({ text: 'Done.\n/status done', delay_ms: 300 }) });
    cleanups.push(async () => model.close());
    const env = { ...baseEnv, ...modelEnv(model.url), ...address, SERVICE_HOME: folder };
    const startTier = async (role: string) => startService({ ...env, SERVICE_ROLE: role });
    const webs = await Promise.all([startTier('web'), startTier('web')]);
    const schedulers = await Promise.all([startTier('scheduler'), startTier('scheduler')]);
    const requests: { at: number; ms: number }[] = [];
    const apis = (await Promise.all(webs.map(async (each) => signIn(each)))).map((api) =>
      timed(api, requests),
    );
    const names = Array.from({ length: WRITERS }, (_, n) => `Agent ${n}`);
    const load = startLoad(apis, await createTeam(apis[0]!, names), { last_work: LAST_WORK });
    cleanups.push(async () => load.stop());
    await waitFor(() => load.acknowledged.comments.length > 100 && model.count() > 10, { what: 'load' });

    const frozenAt = performance.now();
    freeze('SIGSTOP');
    const ready = async () =>
      Promise.all(webs.map(async (web) => (await fetch(`${web.url}/healthz/ready`)).status));
    expect(await ready()).toEqual([503, 503]);
    expect(performance.now() - frozenAt).toBeLessThan(BACK_MS);
    await delay(FROZEN_MS - (performance.now() - frozenAt));
    const thawedAt = performance.now();
    freeze('SIGCONT');
    const acknowledgedAfter = () => load.moments.map((each) => each.filter((at) => at > thawedAt).length);
    await waitFor(() => acknowledgedAfter().every((count) => count >= 20), { what: 'writes after the thaw' });
    const back_ms = performance.now() - thawedAt;
    const asked = model.count();
    await waitFor(() => model.count() > asked, { what: 'a run after the thaw' });
    expect(await ready()).toEqual([200, 200]);
    await delay(3000);
    await load.stop();
    await restOf(url);

    const during = requests.filter(({ at, ms }) => at < thawedAt && at + ms > frozenAt);
    const longest = Math.max(...during.map(({ ms }) => ms));
    expect(longest).toBeLessThan(ANSWERED_MS);
    const late = during.filter(({ at, ms }) => at > frozenAt + GIVEN_UP_MS && at + ms < thawedAt);
    expect(late.length).toBeGreaterThan(0);
    expect(Math.max(...late.map(({ ms }) => ms))).toBeLessThan(refused_ms);
    expect(load.refused.filter((status) => status !== 503)).toEqual([]);
    const { issues, comments } = load.acknowledged;
    expect(await faultsOf(url, issues, comments)).toEqual({});
    // The same processes as before; they exit cleanly.
    const exits = await Promise.all([...webs, ...schedulers].map(async (service) => service.stop()));
    expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })));
    process.stdout.write(
      `frozen for ${FROZEN_MS / 1000} s: the longest of ${during.length} requests took ${(longest / 1000).toFixed(1)} s, ` +
        `${load.refused.length} refused, 20 writes by each tier after ${(back_ms / 1000).toFixed(1)} s; ${issues.length} issues and ${comments.length} comments acknowledged\n`,
    );
  });
});

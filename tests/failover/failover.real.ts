import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { killServices, startFakeModel, startService, waitFor, type ServiceProcess } from '@acp/testkit';
import { baseEnv, createTeam, modelEnv, signIn } from '../process/api.ts';
import { startLoad } from '../process/load.ts';
import { startCluster, type Cluster } from './cluster.ts';
import { startProxy } from './following-proxy.ts';
import { readLive } from './live-reader.ts';
import { poolerProgram, postgresPrograms } from './programs.ts';
import { startPooler } from './pooler.ts';
import { faultsOf, restOf } from './proof.ts';

const WRITERS = 8;
/** Issues are worked on one by one for as long as the load lasts: there is always an active run. */
const LAST_WORK = 400;
/** Time a cluster manager takes to notice that the primary is gone. */
const NOTICED_MS = 1500;
const BACK_WITHIN_MS = 30_000;

const programs = postgresPrograms()!;
const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  await killServices();
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

async function ended<T extends { stop(): Promise<void> } | { close(): Promise<void> }>(
  started: Promise<T>,
): Promise<T> {
  const up = await started;
  cleanups.push(async () => ('stop' in up ? up.stop() : up.close()));
  return up;
}

/** Time from `from` until `count` more have arrived. */
async function until(moments: readonly number[], from: number, count: number): Promise<number> {
  const after = () => moments.filter((moment) => moment > from);
  await waitFor(() => after().length >= count, { timeout_ms: BACK_WITHIN_MS, what: 'acknowledged writes' });
  return after()[count - 1]! - from;
}

async function failOver(cluster: Cluster): Promise<number> {
  const killedAt = performance.now();
  cluster.primary.kill();
  await delay(NOTICED_MS);
  await cluster.promote();
  return killedAt;
}

type Address = (proxy: { url: string }) => Promise<Record<string, string>>;

const addresses: [string, boolean, Address][] = [
  ['a proxy', true, async ({ url }) => ({ DATABASE_URL: url })],
  [
    'a proxy and PgBouncer in transaction mode',
    poolerProgram() !== undefined,
    async ({ url }) => {
      const pooler = await ended(startPooler(poolerProgram()!, url));
      return { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: url };
    },
  ],
];

describe.each(addresses.filter(([, there]) => there))(
  'a primary that dies under load, behind %s',
  (_, __, addressOf) => {
    it('costs no acknowledged write and doubles no run; all processes go on with its standby', async () => {
      const cluster = await ended(startCluster(programs));
      const proxy = await ended(startProxy([cluster.primary, cluster.standby]));
      const model = await ended(
        startFakeModel({ script: () => ({ text: 'Done.\n/status done', delay_ms: 300 }) }),
      );
      const env = { ...baseEnv, ...modelEnv(model.url), ...(await addressOf(proxy)) };
      const start = async (role: string) => startService({ ...env, SERVICE_ROLE: role });
      const webs = await Promise.all([start('web'), start('web')]);
      const schedulers = await Promise.all([start('scheduler'), start('scheduler')]);
      const apis = await Promise.all(webs.map(async (each) => signIn(each)));
      const team = await createTeam(
        apis[0]!,
        Array.from({ length: WRITERS }, (_each, n) => `Agent ${n}`),
      );
      const readers = webs.flatMap(({ url }, n) =>
        Array.from({ length: 3 }, () => readLive(url, apis[n]!.cookie)),
      );
      cleanups.push(async () => void (await Promise.all(readers.map(async (reader) => reader.close()))));
      const load = startLoad(apis, team, { last_work: LAST_WORK });
      cleanups.push(async () => load.stop());
      await waitFor(() => load.acknowledged.comments.length > 100 && model.count() > 10, { what: 'load' });

      const killedAt = await failOver(cluster);
      const back = await Promise.all(load.moments.map(async (moments) => until(moments, killedAt, 5)));
      const asked = model.count();
      await waitFor(() => model.count() > asked, { what: 'a run after the failover' });
      const runs_again = performance.now() - killedAt;
      await delay(3000);
      await load.stop();
      await restOf(cluster.standby.url);

      const { issues, comments } = load.acknowledged;
      expect(await faultsOf(cluster.standby.url, issues, comments)).toEqual({});
      const wrong = load.refused.filter((status) => status !== 503);
      // Log lines of the processes that explain it, if any.
      const why =
        wrong.length > 0 ? webs.flatMap(({ log }) => log.filter(({ level }) => level === 'error')) : [];
      expect({ wrong, why }).toEqual({ wrong: [], why: [] });
      for (const reader of readers) {
        const unseen = () => {
          const seen = new Set(reader.created.values());
          return issues.filter((id) => !seen.has(id));
        };
        await waitFor(() => unseen().length === 0, { what: 'every issue on the live stream' });
        const numbers = [...reader.created.keys()];
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        expect({ repeated: reader.repeated(), resets: reader.resets() }).toEqual({ repeated: 0, resets: 0 });
      }
      const relinked = ({ log }: ServiceProcess) =>
        log.some(({ message }) => message === 'database link is back');
      expect([...webs, ...schedulers].map(relinked)).toEqual([true, true, true, true]);
      // The same processes as before; they exit cleanly.
      const exits = await Promise.all([...webs, ...schedulers].map(async (service) => service.stop()));
      expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })));

      const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
      const reconnects = readers.reduce((sum, reader) => sum + reader.reconnects(), 0);
      process.stdout.write(
        `writes were back after ${back.map(seconds).join(' and ')}, runs after ${seconds(runs_again)}; ` +
          `${issues.length} issues and ${comments.length} comments acknowledged, ${load.refused.length} refused, ` +
          `${reconnects} live readers reconnected\n`,
      );
    });
  },
);

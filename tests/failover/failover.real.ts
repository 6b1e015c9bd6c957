import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { killServices, startFakeModel, startService, waitFor, type ServiceProcess } from '@acp/testkit';
import { baseEnv, createTeam, modelEnv, signIn } from '../process/api.ts';
import { startLoad } from '../process/load.ts';
import { askNode, startCluster, type Cluster } from './cluster.ts';
import { startProxy } from './following-proxy.ts';
import { readLive } from './live-reader.ts';
import { poolerProgram, postgresPrograms } from './programs.ts';
import { startPooler } from './pooler.ts';

const WRITERS = 8;
/** Issue by issue as often as the load goes on: there is always a run under way. */
const LAST_WORK = 400;
/** What a cluster manager takes to see that the primary is gone. */
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

/** How long it took from `from` until `count` more of them had come. */
async function until(moments: readonly number[], from: number, count: number): Promise<number> {
  const after = () => moments.filter((moment) => moment > from);
  await waitFor(() => after().length >= count, { timeout_ms: BACK_WITHIN_MS, what: 'acknowledged writes' });
  return after()[count - 1]! - from;
}

/** What has to hold of the data, asked of the server that is left. */
async function faultsOf(url: string, issues: readonly string[], comments: readonly string[]) {
  const list = (ids: readonly string[]) => `select unnest('{${ids.join(',')}}'::uuid[]) as id`;
  const questions = {
    lost_issues: `select id from (${list(issues)}) a where not exists (select from issues i where i.id = a.id)`,
    lost_comments: `select id from (${list(comments)}) a where not exists (select from comments c where c.id = a.id)`,
    entries: `select id from (${list(issues)}) a where 1 <>
      (select count(*) from activity e where e.entity_id = a.id and e.action = 'issue.created')`,
    events: `select id from (${list(issues)}) a where 1 <>
      (select count(*) from events e where e.type = 'issue_created' and e.data->>'id' = a.id::text)`,
    gaps: `select seq from (select seq, lag(seq) over (order by seq) as before from events) e where seq <> before + 1`,
    // Done once, and said by the one run that came to its end: one that was lost had done it, or left nothing behind.
    doubled: `select i.identifier, i.status, r.*, c.comments from issues i
      cross join lateral (
        select count(*) filter (where status = 'succeeded') as succeeded,
          count(*) filter (where status = 'failed' and error not like 'run lost:%') as failed,
          (select count(*) from run_actions d join heartbeat_runs h on h.id = d.run_id
            where h.issue_id = i.id and d.ok and d.mutating) as verbs
        from heartbeat_runs where issue_id = i.id) r
      cross join lateral (
        select count(*) as comments from comments where issue_id = i.id and author_agent_id is not null) c
      where i.assignee_agent_id is not null
        and (i.status <> 'done' or r.failed > 0 or r.succeeded > 1 or r.verbs <> 1 or c.comments <> r.succeeded)`,
    ends: `select r.id from heartbeat_runs r where 1 <> (select count(*) from events e
      where e.type = 'heartbeat_completed' and e.data->>'id' = r.id::text)`,
  };
  const answers = Object.entries(questions).map(
    async ([name, text]) => [name, await askNode(url, text)] as const,
  );
  return Object.fromEntries((await Promise.all(answers)).filter(([, rows]) => rows.length > 0));
}

async function restOf(url: string): Promise<void> {
  const open = `select count(*)::int as n from heartbeat_runs where status in ('queued', 'running')`;
  const waiting = `select count(*)::int as n from issues where assignee_agent_id is not null and status <> 'done'`;
  const outbox = `select count(*)::int as n from outbox`;
  await waitFor(
    async () => {
      const counts = await Promise.all(
        [open, waiting, outbox].map(async (text) => askNode<{ n: number }>(url, text)),
      );
      return counts.every(([row]) => row?.n === 0);
    },
    { timeout_ms: 90_000, interval_ms: 500, what: 'all work being done' },
  );
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
      const apis = await Promise.all(webs.map(signIn));
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
      expect(load.refused.filter((status) => status !== 503)).toEqual([]);
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
      // The same processes, which end in order.
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

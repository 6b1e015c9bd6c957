import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '@acp/db';
import { startEmbeddedPostgres } from '@acp/embedded-postgres';
import {
  freePort,
  killServices,
  signalProcessesIn,
  startFakeModel,
  startService,
  testLogger,
  waitFor,
} from '@acp/testkit';
import type { FakeModel } from '@acp/testkit';
import { baseEnv, createTeam, modelEnv, shortLeases, signIn } from './api.ts';
import { startLoad } from './load.ts';

const WRITERS = 6;
const logger = testLogger();
let folder: string;
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let port: number;
let model: FakeModel;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acp-database-'));
  // Durable, unlike the tests' shared server: acknowledged writes are what this file is about.
  port = await freePort();
  server = await startEmbeddedPostgres({ data_dir: folder, port, logger });
  model = await startFakeModel({ script: () => ({ text: 'Done.\n/status done', delay_ms: 150 }) });
});

afterAll(async () => {
  await killServices();
  await model.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('a restart of PostgreSQL under load', () => {
  it('is survived by both tiers, without the loss of an acknowledged write', async () => {
    const env = { ...baseEnv, ...shortLeases, ...modelEnv(model.url), DATABASE_URL: server.url };
    const [web, scheduler] = await Promise.all([
      startService({ ...env, SERVICE_ROLE: 'web' }),
      startService({ ...env, SERVICE_ROLE: 'scheduler' }),
    ]);
    const api = await signIn(web);
    const team = await createTeam(
      api,
      Array.from({ length: WRITERS }, (_, n) => `Agent ${n}`),
    );
    const load = startLoad([api], team);
    const more = async (count: number) => {
      const from = load.acknowledged.comments.length;
      await waitFor(() => load.acknowledged.comments.length >= from + count, {
        what: `${count} more acknowledged writes`,
      });
    };
    await more(30);
    await waitFor(() => model.count() > 0, { what: 'a first run' });

    // Restarts it as an operator would.
    await server.stop();
    const readiness = async () =>
      Promise.all([web, scheduler].map(async ({ url }) => (await fetch(`${url}/healthz/ready`)).status));
    expect(await readiness()).toEqual([503, 503]);
    server = await startEmbeddedPostgres({ data_dir: folder, port, logger });
    await more(30);
    await waitFor(async () => (await readiness()).every((status) => status === 200), {
      what: 'both being ready',
    });
    // Kills it as the kernel's OOM killer would.
    signalProcessesIn(folder, 'SIGKILL');
    server = await startEmbeddedPostgres({ data_dir: folder, port, logger });
    await more(30);
    await load.stop();
    expect(load.refused.filter((status) => status !== 503)).toEqual([]);

    // Both recovered by themselves: the same processes keep running.
    expect([web.url, scheduler.url]).toEqual([web, scheduler].map(({ url }) => url));
    const database = openDatabase({ url: server.url, max: 2, application_name: 'test' });
    const count = async (text: string, values: unknown[]) =>
      Number((await database.pool.query<{ count: string }>(text, values)).rows[0]!.count);
    const { issues, comments } = load.acknowledged;
    try {
      expect(await count('select count(*) from issues where id = any($1)', [issues])).toBe(issues.length);
      expect(await count('select count(*) from comments where id = any($1)', [comments])).toBe(
        comments.length,
      );
      const logged = `select count(distinct entity_id) from activity where entity_id = any($1) and action = 'issue.created'`;
      expect(await count(logged, [issues])).toBe(issues.length);
      const published = `select count(distinct data->>'id') from events where type = 'issue_created' and data->>'id' = any($1)`;
      await waitFor(async () => (await count(published, [issues])) === issues.length, {
        what: 'every event',
      });
      // A lost run is retried once: on a slow machine, each of the two outages may cost a run its lease, which is the limit.
      const open = `select identifier, status, checked_out_by_agent_id, runs
        from issues left join lateral (
          select jsonb_agg(heartbeat_runs.status || ' ' || coalesce(error, '')) as runs, count(*) filter (where error like 'run lost:%') as lost
          from heartbeat_runs where issue_id = issues.id) of_it on true
        where assignee_agent_id is not null and (status <> 'done' or checked_out_by_agent_id is not null)
          and (lost < 2 or checked_out_by_agent_id is not null)`;
      const allDone = async () => expect((await database.pool.query(open)).rows).toEqual([]);
      await waitFor(async () => allDone().then(() => true), {
        timeout_ms: 75_000,
        what: 'all work being done',
      });
      const live = `select count(*) from heartbeat_runs where status in ('queued', 'running')`;
      await waitFor(async () => (await count(live, [])) === 0, { what: 'the end of all runs' });
    } finally {
      await database.close();
    }
    expect(await Promise.all([web.stop(), scheduler.stop()])).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
  });
});

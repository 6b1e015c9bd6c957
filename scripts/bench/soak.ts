/**
 * `npm run bench -- --soak`: role `all` on its embedded PostgreSQL under mixed load for half an hour (`--soak=10`: ten minutes); reports its memory and
 * PostgreSQL's every minute, their rate of growth, and what remains a minute after the load.
 */
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openSession } from '@acp/core';
import { type Database, openDatabase, transaction } from '@acp/db';
import { startEmbeddedPostgres } from '@acp/embedded-postgres';
import { createMembership, createUser, forkFakeModel, testLogger } from '@acp/testkit';
import { forkModule } from './forked.ts';
import { postgresProcesses } from './postgres-processes.ts';
import { ONLY_LOOK } from './quick-model.ts';
import type { BenchOptions, Report } from './report.ts';
import { tiers } from './runs.ts';
import { createScene } from './scene.ts';
import { proportionalBytes, residentBytes, startService } from './service.ts';
import type { Cast, Done } from './soak-clients.ts';
import { slopeOf } from './statistics.ts';

const MEGABYTE = 2 ** 20;
/** One-time growth (compiled code, plans, pools, caches filling up) happens in this first part. */
const WARM_SHARE = 1 / 3;
const LIMITS = { service_mb: 250, database_mb: 100, of_idle_percent: 120 };

interface Memory {
  service: number;
  database: number;
}

export async function benchSoak(report: Report, { smoke }: BenchOptions, minutes: number): Promise<void> {
  report.section(`soak: ${minutes} minutes of load of all kinds, role all, embedded PostgreSQL`);
  const model = await forkFakeModel({ script_module: path.join(import.meta.dirname, 'quick-model.ts') });
  const { DATABASE_URL: _, ...settings } = tiers('', model);
  const service = await startService({ ...settings, SERVICE_ROLE: 'all' });
  const data_dir = path.join(settings.SERVICE_HOME, 'postgres');
  const server = await startEmbeddedPostgres({ data_dir, logger: testLogger() });
  const database = openDatabase({ url: server.url, max: 1, application_name: 'bench' });
  const cast = await castOf(database);
  const clients = await forkModule('soak-clients.ts');
  const minuteMs = smoke ? 3000 : 60_000;
  try {
    const servers = await postgresProcesses({ database });
    await database.close();
    const look = async (): Promise<Memory> => ({
      service: (await residentBytes(service.pid)) / MEGABYTE,
      database: sum(await Promise.all((await servers()).map(proportionalBytes))) / MEGABYTE,
    });
    await delay(minuteMs / 2);
    const idle = await look();
    report.text(`idle: ${shown(idle)}`);
    clients.child.send({ url: service.url, ...cast });
    const seen: Memory[] = [];
    let before: Done = { acts: 0, refused: 0 };
    for (let minute = 1; minute <= minutes; minute += 1) {
      await delay(minuteMs);
      const [memory, done] = [await look(), await doneBy(clients.child)];
      seen.push(memory);
      const rate = (done.acts - before.acts) / (minuteMs / 1000);
      report.text(
        `minute ${minute}: ${shown(memory)}; ${rate.toFixed(0)} acts a second, ${done.refused - before.refused} refused`,
      );
      before = done;
    }
    await clients.stop();
    await delay(minuteMs);
    const after = await look();
    report.text(`a minute later: ${shown(after)}`);
    tell(report, { idle, seen, after });
  } finally {
    await clients.stop();
    await service.stop();
    await server.stop();
    await model.close();
  }
}

function tell(report: Report, { idle, seen, after }: { idle: Memory; seen: Memory[]; after: Memory }): void {
  const settled = seen.slice(Math.floor(seen.length * WARM_SHARE));
  const last = seen.at(-1)!;
  const growth = (of: keyof Memory): string => {
    const { slope, error } = slopeOf(settled.map((memory) => memory[of]));
    return `${(slope * 60).toFixed(0)} ± ${(error * 60).toFixed(0)} MB an hour over the last ${settled.length} minutes`;
  };
  report.add({
    name: 'resident memory of the service under load',
    value: last.service,
    unit: 'MB',
    aim: { at_most: LIMITS.service_mb },
    conditions: `role all, at the end; at most ${max(seen, 'service').toFixed(0)} MB; ${growth('service')}`,
  });
  report.add({
    name: 'memory of PostgreSQL under load',
    value: last.database,
    unit: 'MB',
    aim: { at_most: LIMITS.database_mb },
    conditions: `all its processes, what they share counted once; at most ${max(seen, 'database').toFixed(0)} MB; ${growth('database')}`,
  });
  report.add({
    name: 'resident memory a minute after the load, of idle',
    value: (100 * after.service) / idle.service,
    unit: '%',
    aim: { at_most: LIMITS.of_idle_percent },
    conditions: `${after.service.toFixed(0)} MB of ${idle.service.toFixed(0)} before the load; PostgreSQL ${after.database.toFixed(0)} of ${idle.database.toFixed(0)} MB`,
  });
}

const shown = ({ service, database }: Memory): string =>
  `service ${service.toFixed(0)} MB, PostgreSQL ${database.toFixed(0)} MB`;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const max = (seen: readonly Memory[], of: keyof Memory): number =>
  Math.max(...seen.map((memory) => memory[of]));

async function doneBy(child: Awaited<ReturnType<typeof forkModule>>['child']): Promise<Done> {
  const answered = once(child, 'message');
  child.send('count');
  const [done] = (await answered) as [Done];
  return done;
}

/** Creates a company with issues, agents, chats, and its users: keys and a person's session. */
async function castOf(database: Database): Promise<Omit<Cast, 'url'>> {
  const scene = await createScene(
    { database },
    { agents: 16, issues: 500, max_concurrent_runs: 2, title: ONLY_LOOK },
  );
  const { rows } = await database.pool.query<{ id: string }>(
    'insert into chats (company_id, agent_id) select $1, unnest($2::uuid[]) returning id',
    [scene.company_id, scene.agent_ids],
  );
  const session = await transaction(database, async (tx) => {
    const user = await createUser(tx);
    await createMembership(tx, { id: scene.company_id }, user, 'admin');
    return openSession(tx, user.id);
  });
  return { ...scene, chat_ids: rows.map(({ id }) => id), session: session.token };
}

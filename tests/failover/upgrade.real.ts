import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrationStatus, openDatabase } from '@acp/db';
import { startEmbeddedPostgres } from '@acp/embedded-postgres';
import { killServices, startFakeModel, startService, testLogger, waitFor } from '@acp/testkit';
import { baseEnv, createTeam, modelEnv, signIn } from '../process/api.ts';
import { startLoad } from '../process/load.ts';
import { readLive } from './live-reader.ts';
import { faultsOf, restOf } from './proof.ts';
import { addMigrations } from './next-release.ts';
import { checkOut, releasedCommit } from './released.ts';

const WRITERS = 6;
const LAST_WORK = 60;
const cleanups: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  await killServices();
  for (const clean of cleanups.toReversed()) await clean();
});

const commit = releasedCommit();

(commit === undefined ? describe.skip : describe)('an upgrade under load', () => {
  it('refuses nothing and loses nothing, while processes of the release before serve beside the new ones', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'acp-upgrade-'));
    cleanups.push(async () => rm(folder, { recursive: true, force: true }));
    const server = await startEmbeddedPostgres({
      data_dir: path.join(folder, 'database'),
      logger: testLogger(),
    });
    cleanups.push(async () => server.stop());
    const released = await checkOut(commit!);
    cleanups.push(async () => released.stop());
    const next = await checkOut('HEAD');
    cleanups.push(async () => next.stop());
    const added = addMigrations(next.folder);
    const model = await startFakeModel({ script: () => ({ text: 'Done.\n/status done', delay_ms: 200 }) });
    cleanups.push(async () => model.close());
    const env = {
      ...baseEnv,

      ...modelEnv(model.url),
      DATABASE_URL: server.url,
      SERVICE_HOME: path.join(folder, 'home'),
    };
    const before = { command: released.command, cwd: released.folder };
    const after = { command: next.command, cwd: next.folder };
    const database = openDatabase({ url: server.url, max: 2, application_name: 'test' });
    cleanups.push(async () => database.close());

    const old = await Promise.all(
      ['web', 'scheduler'].map(async (role) => startService({ ...env, SERVICE_ROLE: role }, before)),
    );
    const oldApi = await signIn(old[0]!);
    const team = await createTeam(
      oldApi,
      Array.from({ length: WRITERS }, (_, n) => `Agent ${n}`),
    );
    const migrations = path.join(next.folder, 'drizzle');
    const { pending } = await migrationStatus(database.db, migrations);
    expect(pending).toBeGreaterThanOrEqual(added);
    const readers = [readLive(old[0]!.url, oldApi.cookie)];
    cleanups.push(async () => Promise.all(readers.map(async (reader) => reader.close())));
    const first = startLoad([oldApi], team, { last_work: LAST_WORK });
    cleanups.push(async () => first.stop());
    const more = async (load: typeof first, count: number) => {
      const from = load.acknowledged.issues.length;
      await waitFor(() => load.acknowledged.issues.length >= from + count, { what: 'acknowledged writes' });
    };
    await more(first, 40);
    // Queried like a load balancer does.
    const isReady = async () => (await fetch(`${old[0]!.url}/healthz/ready`)).status;
    expect(await isReady()).toBe(200);

    // The schema changes while the old processes are running.
    const young = await Promise.all(
      ['web', 'scheduler'].map(async (role) => startService({ ...env, SERVICE_ROLE: role }, after)),
    );
    expect((await migrationStatus(database.db, migrations)).pending).toBe(0);
    const api = await signIn(young[0]!);
    readers.push(readLive(young[0]!.url, api.cookie));
    const second = startLoad([api], team, { last_work: LAST_WORK });
    cleanups.push(async () => second.stop());
    await Promise.all([more(first, 80), more(second, 80)]);
    expect(await isReady()).toBe(200);

    // Taken out of the balancer, then stopped.
    await first.stop();
    await readers[0]!.close();
    expect(await Promise.all(old.map(async (service) => service.stop()))).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
    await more(second, 40);
    await second.stop();
    await restOf(server.url);

    const issues = [first, second].flatMap(({ acknowledged }) => acknowledged.issues);
    const comments = [first, second].flatMap(({ acknowledged }) => acknowledged.comments);
    const refused = [...first.refused, ...second.refused];
    // Log lines of the processes that explain it, if any.
    const why =
      refused.length > 0
        ? [...old, ...young].flatMap(({ log }) =>
            log.filter(({ level }) => level === 'warn' || level === 'error'),
          )
        : [];
    expect({ refused, why }).toEqual({ refused: [], why: [] });
    expect(await faultsOf(server.url, issues, comments)).toEqual({});
    const seen = () => new Set(readers[1]!.created.values());
    await waitFor(() => second.acknowledged.issues.every((id) => seen().has(id)), {
      what: 'every issue on the live stream',
    });
    expect(readers[0]!.resets() + readers[1]!.resets()).toBe(0);
    // Otherwise the migrations changed nothing that the old processes had prepared.
    const told = await readFile(path.join(folder, 'database/postgres.log'), 'utf8');
    const stale = told.match(/ERROR: {2}cached plan must not change result type/g) ?? [];
    expect(stale.length).toBeGreaterThan(0);
    const errors = [...old, ...young].flatMap(({ log }) => log.filter(({ level }) => level === 'error'));
    expect(errors).toEqual([]);
    process.stdout.write(
      `${pending} migrations under load: ${issues.length} issues and ${comments.length} comments acknowledged, none refused; ` +
        `${stale.length} prepared statements were stale\n`,
    );
  });
});

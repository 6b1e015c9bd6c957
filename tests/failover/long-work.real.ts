/** What may take hours and has no limit of its own: a start that migrates, a backup, a restore; on a server that freezes. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startEmbeddedPostgres } from '@acp/embedded-postgres';
import { killServices, signalProcessesIn, spawnService, testLogger, waitFor } from '@acp/testkit';
import { baseEnv } from '../process/api.ts';
import { askNode } from './cluster.ts';

/** Asked twice after 15 s, 5 s to connect each; then the row of the backup is written to in vain: 2 x 20 s at most. */
const GIVEN_UP_MS = 100_000;
const ctlMain = path.resolve(import.meta.dirname, '../../apps/ctl/src/main.mjs');

let folder: string;
let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>;

const place = (...names: string[]) => path.join(folder, ...names);
const freeze = () => void signalProcessesIn(place('db'), 'SIGSTOP');
const thaw = () => void signalProcessesIn(place('db'), 'SIGCONT');

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'acp-long-work-'));
  server = await startEmbeddedPostgres({ data_dir: place('db'), logger: testLogger() });
});

afterEach(async () => {
  thaw();
  await killServices();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const env = (url = server.url) => ({ ...baseEnv, DATABASE_URL: url, SERVICE_HOME: place('home') });

function ctl(words: readonly string[], url?: string) {
  const child = spawn(process.execPath, [ctlMain, ...words], {
    env: { PATH: process.env.PATH, ...env(url), LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => (text += more));
  const startedAt = performance.now();
  const ended = once(child, 'close').then(([status]) => ({
    status: status as number | null,
    text,
    ms: performance.now() - startedAt,
  }));
  return { ended, running: () => child.exitCode === null };
}

const works = async (name: string, url = server.url) =>
  (await askNode(url, `select from pg_stat_activity where application_name like '${name}%'`)).length > 0;

const database = async (name: string): Promise<string> => {
  await askNode(server.url, `create database ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
};

const filesIn = async (name: string) => readdir(place('home/backups', name)).catch(() => []);

async function sums(url: string): Promise<unknown[]> {
  return askNode(
    url,
    `select (select count(*) || md5(string_agg(body_markdown, '' order by id)) from notes) as notes,
      (select count(*) from companies) as companies`,
    60_000,
  );
}

describe('a server that freezes', () => {
  it('while a process starts: it waits, and goes on by itself once the server is back', async () => {
    const service = spawnService({ ...env(), SERVICE_ROLE: 'web' });
    await waitFor(async () => works('migrate'), { interval_ms: 2, what: 'the migration' });
    freeze();
    await service.logged('waiting for the database', 60_000);
    thaw();
    await service.logged('ready', 60_000);
    expect(await service.stop()).toEqual({ code: 0, signal: null });
  });

  it('before a process starts, and stays frozen: it says so and exits', async () => {
    freeze();
    const service = spawnService({ ...env(), SERVICE_ROLE: 'web' });
    const { error } = await service.logged('could not start', 90_000);
    expect(JSON.stringify(error)).toContain('timeout expired');
    expect(await service.ended).toEqual({ code: 1, signal: null });
  });

  it('during a backup and a restore: both end and say why; repeated, all is there and nothing is left over', async () => {
    const service = spawnService({ ...env(), SERVICE_ROLE: 'web' });
    await service.logged('ready');
    await service.stop();
    await askNode(
      server.url,
      `insert into companies (name, slug, identifier_prefix) values ('Sea', 'sea', 'SEA')`,
    );
    // Hardly compressible: 120 MB.
    for (let part = 0; part < 50; part += 1)
      await askNode(
        server.url,
        `insert into notes (company_id, title, body_markdown)
          select c.id, 'n' || n, (
            select string_agg(md5(random()::text || n || k), '') from generate_series(1, 3000) k)
          from companies c, generate_series(1, 25) n`,
      );
    const before = await sums(server.url);

    const backup = ctl(['db', 'backup']);
    const size = async () => {
      const [name] = await filesIn('tmp');
      return name === undefined ? 0 : (await stat(place('home/backups/tmp', name))).size;
    };
    await waitFor(async () => (await size()) > 20_000_000, { interval_ms: 2, what: 'some of the backup' });
    freeze();
    const failed = await backup.ended;
    expect(failed).toMatchObject({ status: 1, text: expect.stringContaining('does not answer') });
    expect(failed.ms).toBeLessThan(GIVEN_UP_MS);
    expect([await filesIn('tmp'), await filesIn('objects')]).toEqual([[], []]);
    thaw();
    await waitFor(async () => !(await works('backup')), { what: 'the end of its session' });
    await askNode(server.url, `update backups set updated_at = now() - interval '3 minutes'`);
    expect(await ctl(['db', 'backup']).ended).toMatchObject({ status: 0 });

    const [file = ''] = await filesIn('objects');
    const into = await database('restored');
    const words = ['db', 'restore', '--file', file, '--into', into];
    const restore = ctl(words);
    const copying = `select from pg_stat_progress_copy where bytes_processed > 20000000`;
    await waitFor(async () => (await askNode(into, copying)).length > 0, {
      interval_ms: 2,
      what: 'some rows',
    });
    freeze();
    const stopped = await restore.ended;
    expect(stopped).toMatchObject({ status: 1, text: expect.stringContaining('does not answer') });
    expect(stopped.ms).toBeLessThan(GIVEN_UP_MS);
    thaw();
    await waitFor(async () => !(await works('restore')), { what: 'the end of its session' });
    expect(await ctl(words).ended).toMatchObject({ status: 0 });
    expect(await sums(into)).toEqual(before);
    process.stdout.write(
      `the backup gave up ${Math.round(failed.ms / 1000)} s after its start, the restore after ${Math.round(stopped.ms / 1000)} s\n`,
    );
  }, 600_000);
});

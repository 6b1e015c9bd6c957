/** (d) Time from a second start to /healthz, and resident memory when idle. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { cloneDatabase } from '@acp/testkit';
import type { BenchOptions, Report } from './report.ts';
import {
  descendants,
  environment,
  privateBytes,
  residentBytes,
  root,
  startService,
  temporaryFolder,
} from './service.ts';
import { median } from './statistics.ts';

const MEGABYTE = 1024 * 1024;
const START_LIMIT_MS = 60_000;

export async function benchStart(report: Report, options: BenchOptions): Promise<void> {
  report.section('(d) start and memory');
  const home = temporaryFolder();
  const idleSec = options.smoke ? 2 : 20;
  // The first start creates the cluster, migrates and fills the compile cache.
  await npmStart(home, 0);
  const starts: Started[] = [];
  for (let n = 0; n < (options.smoke ? 1 : 5); n += 1)
    starts.push(await npmStart(home, n === 0 ? idleSec : 0));
  report.add({
    name: 'second start to /healthz',
    value: median(starts.map(({ ms }) => ms)) / 1000,
    unit: 's',
    aim: { at_most: 3 },
    conditions: `median of ${starts.length}; npm start, role all, embedded PostgreSQL started with it`,
  });
  report.add({
    name: 'resident memory, role all',
    value: starts[0]!.resident / MEGABYTE,
    unit: 'MB',
    aim: { at_most: 160 },
    conditions: `${idleSec} s after the start; npm and PostgreSQL left out`,
  });
  await benchPair(report, idleSec);
}

async function benchPair(report: Report, idleSec: number): Promise<void> {
  const database = await cloneDatabase('bench_start');
  const settings = { DATABASE_URL: database.url, SERVICE_HOME: temporaryFolder() };
  const web = await startService({ ...settings, SERVICE_ROLE: 'web' });
  const scheduler = await startService({ ...settings, SERVICE_ROLE: 'scheduler' });
  await delay(idleSec * 1000);
  const [webBytes, schedulerBytes] = await Promise.all([
    residentBytes(web.pid),
    residentBytes(scheduler.pid),
  ]);
  report.add({
    name: 'resident memory, web and scheduler apart',
    value: (webBytes + schedulerBytes) / MEGABYTE,
    unit: 'MB',
    aim: { at_most: 160 },
    conditions: `web ${(webBytes / MEGABYTE).toFixed(0)} MB, scheduler ${(schedulerBytes / MEGABYTE).toFixed(0)} MB; ${idleSec} s after the start`,
  });
  const [webOwn, schedulerOwn] = await Promise.all([privateBytes(web.pid), privateBytes(scheduler.pid)]);
  report.add({
    name: 'the same, what they share counted once',
    value: (webBytes + schedulerOwn) / MEGABYTE,
    unit: 'MB',
    conditions: `of their own: web ${(webOwn / MEGABYTE).toFixed(0)} MB, scheduler ${(schedulerOwn / MEGABYTE).toFixed(0)} MB`,
  });
  await Promise.all([web.stop(), scheduler.stop()]);
  await database.close();
}

interface Started {
  ms: number;
  resident: number;
}

/** Runs `npm start` until /healthz answers, then stops it. */
async function npmStart(home: string, idleSec: number): Promise<Started> {
  const port = String(20_000 + Math.floor(Math.random() * 10_000));
  const startedAt = performance.now();
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: environment({ SERVICE_HOME: home, PORT: port }),
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  const exited = once(npm, 'exit');
  const kill = () => npm.kill('SIGKILL');
  process.once('exit', kill);
  while (!(await isUp(`http://127.0.0.1:${port}/healthz`))) {
    if (performance.now() - startedAt > START_LIMIT_MS) throw new Error('npm start did not come up');
    await delay(10);
  }
  const ms = performance.now() - startedAt;
  await delay(idleSec * 1000);
  const processes = await descendants(npm.pid!, /launcher\/src\/main\.mjs/);
  const resident = await Promise.all(processes.map(residentBytes));
  for (const pid of processes) process.kill(pid, 'SIGTERM');
  await exited;
  process.off('exit', kill);
  return { ms, resident: resident.reduce((sum, bytes) => sum + bytes, 0) };
}

async function isUp(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  );
}

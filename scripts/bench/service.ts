/** Real processes of the service, started as an operator would. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

export const root = path.resolve(import.meta.dirname, '../..');
const launcher = path.join(root, 'apps/launcher/src/main.mjs');
const KEPT_LINES = 30;

export interface Service {
  pid: number;
  url: string;
  /** Milliseconds from the start of the process to its `ready` line. */
  ready_ms: number;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

const folders: string[] = [];
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder that is removed when this process exits. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'acp-bench-'));
  folders.push(folder);
  return folder;
}

/** Environment of every process of the benchmark; no configuration of a real instance reaches it. */
export function environment(settings: Record<string, string>): Record<string, string> {
  const { PATH = '', HOME = '/' } = process.env;
  return { PATH, HOME, PORT: '0', LOG_FORMAT: 'json', RATE_LIMIT_RPM: '0', ...settings };
}

/** Starts only the web tier on that database. */
export const startWeb = async ({ url }: { url: string }): Promise<Service> =>
  startService({ SERVICE_ROLE: 'web', DATABASE_URL: url, SERVICE_HOME: temporaryFolder() });

/** Starts the launcher and waits for its `ready` line. */
export async function startService(settings: Record<string, string>): Promise<Service> {
  const startedAt = performance.now();
  // The limits of `npm start`.
  const child = spawn(process.execPath, ['--max-semi-space-size=8', launcher], {
    env: environment({ MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', ...settings }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const exited = once(child, 'exit').then(() => running.delete(child));
  let stopping = false;
  const lines: string[] = [];
  const ready = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on('line', (line) => {
        lines.push(line);
        if (lines.length > KEPT_LINES) lines.shift();
        if (line.includes('"message":"ready"')) resolve(String((JSON.parse(line) as { url: unknown }).url));
        else if (line.includes('"level":"error"')) console.error(line);
      });
    }
    child.once('exit', () => {
      if (!stopping) console.error(`the service ended by itself:\n${lines.join('\n')}`);
      reject(new Error('the service did not start'));
    });
  });
  const url = await ready;
  return {
    pid: child.pid!,
    url,
    ready_ms: performance.now() - startedAt,
    async stop() {
      stopping = true;
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Current resident memory of the process, in bytes. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

/** The same, with shared pages divided among the processes: summed over all, each byte counts once. 0 if it has exited. */
export async function proportionalBytes(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) * 1024;
}

/** What the process shares with no other: not Node.js's program file, which all of them map. */
export async function privateBytes(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].map(([, each]) =>
    Number(each),
  );
  return kilobytes.reduce((total, each) => total + each, 0) * 1024;
}

/** Milliseconds of CPU time used by the process: independent of other load on the machine. */
export async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  // Reported in hundredths of a second.
  return (Number(user) + Number(system)) * 10;
}

/** Descendants of `pid`, itself included, whose command line matches. */
export async function descendants(pid: number, command: RegExp): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isBelow = (each: number): boolean => each === pid || (each > 1 && isBelow(parents.get(each) ?? 0));
  const found: number[] = [];
  for (const each of parents.keys()) {
    if (!isBelow(each)) continue;
    const line = await readFile(`/proc/${each}/cmdline`, 'utf8').catch(() => '');
    if (command.test(line.replaceAll('\0', ' '))) found.push(each);
  }
  return found;
}

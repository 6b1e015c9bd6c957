// CPU time per test file: `npm test -- --cpu`. Wall-clock time says little about it, and nothing on a busy machine.
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Environment variable with the file that jest's workers write to, one line per test file. */
export const LEDGER = 'ACP_TEST_CPU';

/** In seconds. */
interface Spent {
  /** The worker itself. */
  worker: number;
  /** Child processes that have exited and were awaited; a browser's pages are not, and cost more than the browser. */
  children: number;
  /** The run's PostgreSQL: with several workers this includes other workers' statements. */
  database: number;
  /** On the clock: of this, the file has waited for what it started, or for a core. */
  wall: number;
}

export type Entry = Spent & { file: string };

const TICKS_PER_SECOND = 100;

/** @returns a function to call after the file; it does nothing if no ledger is kept */
export function beginEntry(root: string, testPath: string): () => void {
  const ledger = process.env[LEDGER];
  if (ledger === undefined) return () => undefined;
  const before = spentSoFar();
  return () => {
    const after = spentSoFar();
    const entry: Entry = {
      file: path.relative(root, testPath),
      worker: after.worker - before.worker,
      children: after.children - before.children,
      database: after.database - before.database,
      wall: after.wall - before.wall,
    };
    appendFileSync(ledger, `${JSON.stringify(entry)}\n`);
  };
}

/** Total CPU time of exited children. */
export function childrenSeconds(): number {
  return timesOf('self').children;
}

/** The most expensive files first, then folders, then the total. */
export function ledgerReport(ledger: string, longest = 40): string {
  const entries = readFileSync(ledger, 'utf8')
    .trim()
    .split('\n')
    .map((text): Entry => JSON.parse(text));
  const groups = Map.groupBy(entries, ({ file }) => file.split('/').slice(0, 2).join('/'));
  const sums = [...groups].map(([file, of]) => ({ ...sum(of), file: `${file} (${of.length})` }));
  const lines = [
    ...byTotal(entries).slice(0, longest),
    ...byTotal(sums),
    { ...sum(entries), file: `all (${entries.length})` },
  ].map(line);
  const head = `${['seconds', 'worker', 'children', 'database', 'wall'].map((word) => word.padStart(9)).join('')}  file`;
  return [head, ...lines].join('\n');
}

function spentSoFar(): Spent {
  const { user, system } = process.cpuUsage();
  return {
    worker: (user + system) / 1e6,
    children: timesOf('self').children,
    database: databaseSeconds(),
    wall: performance.now() / 1000,
  };
}

function databaseSeconds(): number {
  const { pid }: { pid?: number } = JSON.parse(process.env.ACP_TEST_SERVER ?? '{}');
  if (pid === undefined) return 0;
  const server = timesOf(String(pid));
  const backends = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(timesOf)
    .filter(({ parent }) => parent === pid);
  return backends.reduce((total, { own }) => total + own, server.own + server.children);
}

/** Parses /proc/<pid>/stat, whose second field may contain anything. */
function timesOf(pid: string): { parent: number; own: number; children: number } {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const seconds = (first: number): number =>
      (Number(fields[first]) + Number(fields[first + 1])) / TICKS_PER_SECOND;
    return { parent: Number(fields[1]), own: seconds(11), children: seconds(13) };
  } catch {
    // It has exited in the meantime.
    return { parent: 0, own: 0, children: 0 };
  }
}

const total = ({ worker, children, database }: Spent): number => worker + children + database;

function byTotal(entries: readonly Entry[]): Entry[] {
  return entries.toSorted((one, other) => total(other) - total(one));
}

function sum(entries: readonly Entry[]): Spent {
  const of = (key: keyof Spent): number => entries.reduce((all, entry) => all + entry[key], 0);
  return { worker: of('worker'), children: of('children'), database: of('database'), wall: of('wall') };
}

function line(entry: Entry): string {
  const figures = [total(entry), entry.worker, entry.children, entry.database, entry.wall];
  return `${figures.map((seconds) => seconds.toFixed(1).padStart(9)).join('')}  ${entry.file}`;
}

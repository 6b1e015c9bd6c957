/**
 * `npm run bench`: the costs of the service, measured on real processes (docs/benchmarks.md). `--smoke` takes a few seconds
 * per figure, `--large` measures a database with a million issues instead, `--soak` memory under half an hour of load
 * (`--soak=10`: ten minutes), `--only=a,c` selects sections; `--compare <ref>` alternates with another checkout,
 * `--rounds` times.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { startTestServer, stopTestServer } from '@acp/testkit';
import { benchApi } from './api.ts';
import { benchChats } from './chats.ts';
import { compareWith } from './compare.ts';
import { benchContention } from './contention.ts';
import { benchDispatch } from './dispatch.ts';
import { benchFleet } from './fleet.ts';
import { benchKnowledge } from './knowledge.ts';
import { benchLarge } from './large.ts';
import { benchLive } from './live.ts';
import { benchMcp } from './mcp.ts';
import { benchPlugins } from './plugins.ts';
import { benchProcessor } from './processor.ts';
import { benchReaders } from './readers.ts';
import { type BenchOptions, Report } from './report.ts';
import { benchSoak } from './soak.ts';
import { benchStart } from './start.ts';
import { benchTelemetry } from './telemetry.ts';
import { benchWork } from './work.ts';
import { benchWorkspaces } from './workspaces.ts';

const SOAK_MINUTES = 30;

type Bench = (report: Report, options: BenchOptions) => Promise<void>;

const sections: Record<string, Bench> = {
  a: benchApi,
  b: benchDispatch,
  c: benchLive,
  d: benchStart,
  e: benchWork,
  f: benchFleet,
  g: benchMcp,
  h: benchPlugins,
  i: benchChats,
  j: benchKnowledge,
  l: benchTelemetry,
  m: benchWorkspaces,
  n: benchReaders,
  o: benchContention,
  p: benchProcessor,
};

const { values } = parseArgs({
  // Without a number it runs for half an hour.
  args: process.argv.slice(2).map((arg) => (arg === '--soak' ? `--soak=${SOAK_MINUTES}` : arg)),
  options: {
    smoke: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    soak: { type: 'string' },
    only: { type: 'string' },
    compare: { type: 'string' },
    rounds: { type: 'string', default: '5' },
  },
});
// By its exit, what it has started ends too.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
const chosen = choose();
if (values.compare === undefined) await measure();
else await compareWith({ ref: values.compare, rounds: countOf('--rounds', values.rounds), args: ofEach() });

function choose(): Bench[] {
  if (values.large) return [benchLarge];
  if (values.soak === undefined) return chooseSections(values.only);
  const minutes = countOf('--soak', values.soak);
  return [async (report, options) => benchSoak(report, options, minutes)];
}

/** Arguments passed to both checkouts. */
function ofEach(): string[] {
  const { smoke, large, soak, only } = values;
  return [
    ...(smoke ? ['--smoke'] : []),
    ...(large ? ['--large'] : []),
    ...(soak === undefined ? [] : [`--soak=${soak}`]),
    ...(only === undefined ? [] : [`--only=${only}`]),
  ];
}

function countOf(option: string, text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new Error(`${option} takes a number from 1 to 999: ${text}`);
  return Number(text);
}

async function measure(): Promise<void> {
  const server =
    process.env.TEST_DATABASE_URL === undefined
      ? 'embedded PostgreSQL on the same machine, fsync and synchronous_commit on'
      : 'PostgreSQL of TEST_DATABASE_URL';
  const report = new Report();
  await startTestServer({ durable: true });
  try {
    const [cpu] = cpus();
    const machine = `node ${process.version}, ${cpus().length} × ${cpu?.model.trim()}`;
    console.log(`${machine}, ${server}${values.smoke ? '; a smoke run: figures are rough' : ''}`);
    for (const bench of chosen) await bench(report, { smoke: values.smoke });
    report.summary();
  } finally {
    await stopTestServer();
  }
}

function chooseSections(only: string | undefined): Bench[] {
  const names = only === undefined ? Object.keys(sections) : only.split(',');
  return names.map((name) => {
    const bench = sections[name];
    if (bench === undefined) throw new Error(`--only takes ${Object.keys(sections).join(', ')}: ${name}`);
    return bench;
  });
}

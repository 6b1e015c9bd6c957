/** The agent-to-agent protocol's test kits: Python programs in no registry, pinned to commits of their repository. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '@acp/kernel';

const execute = promisify(execFile);
// A copy of the repository, if GitHub can't be reached.
const repository = childEnvironment({}).A2A_TCK_REPOSITORY ?? 'https://github.com/a2aproject/a2a-tck.git';

/** The packages that the kits need over JSON-RPC; their own lists also include reports and generators. */
const packages = [
  'pytest',
  'pytest-asyncio',
  'httpx',
  'requests',
  'responses',
  'jsonschema',
  'jinja2',
  'packaging',
  'python-dotenv',
  'pyopenssl',
  // Imported by their clients for other transports.
  'grpcio',
  'protobuf',
  'googleapis-common-protos',
];

export type Outcome = 'PASSED' | 'FAILED' | 'SKIPPED' | 'XFAIL' | 'XPASS' | 'ERROR';

export interface Kit {
  /** Runs the tests at the given places. @returns the outcome of each */
  run(args: readonly string[]): Promise<Map<string, Outcome>>;
}

/** Installs the kits of the commits in one environment. @returns the reason if they can’t be installed */
export async function installKits(
  commits: readonly string[],
): Promise<{ kits: Kit[]; folder: string } | string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'a2a-tck-'));
  const python = path.join(folder, 'venv/bin/python');
  try {
    await execute('python3', ['-m', 'venv', path.join(folder, 'venv')], { timeout: 60_000 });
    const pip = ['-m', 'pip', 'install', '-q', '--retries', '1', ...packages];
    await execute(python, pip, { timeout: 300_000 });
    const kits: Kit[] = [];
    // One after the other: if one can't be had, nothing still writes to the folder that is removed.
    for (const commit of commits) {
      const kit = path.join(folder, commit);
      await execute('git', ['init', '-q', kit]);
      const fetch = ['-C', kit, 'fetch', '-q', '--depth', '1', repository, commit];
      await execute('git', fetch, { timeout: 120_000 });
      await execute('git', ['-C', kit, 'checkout', '-q', 'FETCH_HEAD']);
      kits.push({ run: async (args) => outcomesOf(await pytest(python, kit, args)) });
    }
    return { kits, folder };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    return error instanceof Error
      ? error.message.split('\n').slice(0, 3).join(' ')
      : 'they can’t be installed';
  }
}

async function pytest(python: string, cwd: string, args: readonly string[]): Promise<string> {
  const all = ['-m', 'pytest', '-v', '--tb=no', '-p', 'no:cacheprovider', ...args];
  const env = childEnvironment({ COLUMNS: '400' });
  try {
    const { stdout } = await execute(python, all, { cwd, env, timeout: 400_000, maxBuffer: 64_000_000 });
    return stdout;
  } catch (error) {
    // Failing tests make it exit with 1; they are checked one by one.
    const { stdout, code } = error as { stdout?: string; code?: unknown };
    if (code === 1 && stdout !== undefined) return stdout;
    throw error;
  }
}

/** Parses lines of the form `path::test[parameters] OUTCOME (reason) [ 12%]`. */
function outcomesOf(output: string): Map<string, Outcome> {
  const lines = output.matchAll(
    /^(tests\/\S+?::.*?) (PASSED|FAILED|SKIPPED|XFAIL|XPASS|ERROR)\b.*\[ *\d+%\]$/gm,
  );
  return new Map([...lines].map(([, test, outcome]) => [test!, outcome as Outcome]));
}

/** The command line of a container engine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { AdapterError } from '../adapter-error.ts';
import { failureOfEnd } from '../cli/failures.ts';
import type { ContainerSpec } from '../task.ts';

export type Engine = Pick<ContainerSpec, 'cli' | 'cli_env'>;

const REMOVE_TIMEOUT_MS = 10_000;
const STDERR_KEPT = 8192;
/** In characters: far more than an engine lists, and than labels that a container chose could make it say. */
const MOST_SAID = 4_000_000;

/** Kills and removes the container if it still exists, which is rare. Never rejects. */
export async function removeContainer(container: Engine, name: string): Promise<void> {
  await engine(container, ['kill', name]);
  await engine(container, ['rm', '--force', name]);
}

/** The engine's output; empty if it fails, says too much or does not respond in time. */
export async function engine({ cli, cli_env: env }: Engine, args: readonly string[]): Promise<string> {
  const [program = '', ...own] = cli;
  try {
    const child = spawn(program, [...own, ...args], {
      env,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: REMOVE_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.length > MOST_SAID) child.kill('SIGKILL');
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0 ? said : '';
  } catch {
    return '';
  }
}

/** @param env values of variables named in the arguments. Throws AdapterError with the engine's message, or the abort reason. */
export async function runEngine(
  { cli: [program = '', ...own] }: Pick<Engine, 'cli'>,
  args: readonly string[],
  env: Record<string, string>,
  signal: AbortSignal,
  input?: Readable,
): Promise<void> {
  const stdio = [input === undefined ? 'ignore' : 'pipe', 'ignore', 'pipe'] as const;
  const child = spawn(program, [...own, ...args], { env, cwd: '/', stdio: [...stdio], signal });
  if (input !== undefined && child.stdin !== null) {
    child.stdin.on('error', () => input.destroy());
    input.pipe(child.stdin);
  }
  let stderr = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_KEPT);
  });
  try {
    const [code, by] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    if (code !== 0) throw failureOfEnd('the container engine', { code, signal: by, stderr });
  } catch (err) {
    signal.throwIfAborted();
    if (err instanceof AdapterError) throw err;
    const code = err instanceof Error && 'code' in err ? String(err.code) : 'unknown error';
    throw new AdapterError('config', `the program ${program} could not be started: ${code}`);
  }
}

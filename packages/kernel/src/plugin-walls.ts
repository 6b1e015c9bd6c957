/** The sandbox for plugins on this machine, among those that the operator allows (decisions 10.13). */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { BUBBLEWRAP_MEND, findBubblewrap, findProgram } from './bubblewrap.ts';
import { type Config, pickEnvironment } from './config.ts';
import { conflict } from './errors.ts';
import { said } from './said.ts';

const run = promisify(execFile);
const ENGINE_TRIAL_MS = 10_000;

export type PluginWalls =
  | { kind: 'container' }
  | { kind: 'bubblewrap'; file: string }
  /** No sandbox: a process with the scheduler's privileges. */
  | { kind: 'bare'; why: string };

/** @throws conflict that says what to fix if the operator requires a sandbox that is not available */
export async function findPluginWalls(
  config: Pick<Config, 'container_cli' | 'plugin_sandbox'>,
): Promise<PluginWalls> {
  const wanted = config.plugin_sandbox;
  if (wanted === 'disabled') return { kind: 'bare', why: 'SERVICE_PLUGIN_SANDBOX=disabled' };
  const engine = wanted === 'bubblewrap' ? 'not asked for' : await engineTrouble(config);
  if (engine === null) return { kind: 'container' };
  if (wanted === 'container') throw conflict(said`plugins can’t be sandboxed: ${engine}`);
  const found = await findBubblewrap();
  if ('file' in found) return { kind: 'bubblewrap', file: found.file };
  const why = wanted === 'bubblewrap' ? found.reason : `${engine}; ${found.reason}`;
  if (wanted !== 'auto') throw conflict(said`plugins can’t be sandboxed: ${why}; ${BUBBLEWRAP_MEND}`);
  return { kind: 'bare', why };
}

/** Null if the engine responds; checked by a call, since its command line may be installed without it. */
async function engineTrouble({
  container_cli: [program = '', ...args],
}: Pick<Config, 'container_cli'>): Promise<string | null> {
  if (findProgram(program) === undefined) return `${program} is not installed`;
  try {
    await run(program, [...args, 'info'], { timeout: ENGINE_TRIAL_MS, env: engineEnvironment() });
    return null;
  } catch {
    return `${program} does not answer`;
  }
}

/** The variables that the container engine's command line itself uses. */
export function engineEnvironment(): Record<string, string> {
  return pickEnvironment([
    'PATH',
    'HOME',
    'TMPDIR',
    'DOCKER_HOST',
    'DOCKER_CONTEXT',
    'DOCKER_CONFIG',
    'DOCKER_CERT_PATH',
    'DOCKER_TLS_VERIFY',
    'CONTAINER_HOST',
    'CONTAINERS_CONF',
    'XDG_RUNTIME_DIR',
    'XDG_CONFIG_HOME',
    'XDG_DATA_HOME',
  ]);
}

/**
 * A container's way out: its only network is the loopback of a second container, in which our forwarder leads to the proxy's
 * socket. Nothing but the proxy can be reached: no bridge, no other container, no port of the machine.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { repositoryRoot, sha256Hex } from '@acp/kernel';
import { AdapterError } from '../adapter-error.ts';
import { makeRunFolder } from '../process/run-folder.ts';
import { type EgressProxy, startEgressProxy } from '../sandbox/egress-proxy.ts';
import { proxyVariables } from '../sandbox/proxy-variables.ts';
import type { Reach } from '../sandbox/reach.ts';
import type { EgressPlace } from '../sandbox/egress-place.ts';
import type { ContainerSpec } from '../task.ts';
import { type Engine, engine, removeContainer, runEngine } from './engine.ts';

interface WayOutSettings {
  container: ContainerSpec;
  reach: Reach;
  loopback: EgressPlace | null;
  run_id: string;
  /** Labels the container for the sweep. */
  label: string;
}

export interface WayOut {
  /** Network option for the container that uses it. */
  network: string;
  env: Record<string, string>;
  close(): Promise<void>;
}

const PROXY_PORT = 3128;
const OWN = '/run/service';
const FORWARDER = join(repositoryRoot, 'packages/adapters/src/sandbox/inside.cjs');
const START_MS = 30_000;

export const wayOutName = (run_id: string): string => `service-way-${run_id}`;

/** Throws AdapterError `config` if the engine refuses. */
export async function openWayOut(
  { container, reach, loopback, run_id, label }: WayOutSettings,
  signal: AbortSignal,
): Promise<WayOut> {
  const name = wayOutName(run_id);
  const folder = await makeRunFolder(run_id);
  let proxy: EgressProxy | undefined;
  let attached: ChildProcess | undefined;
  const close = async (): Promise<void> => {
    await removeContainer(container, name);
    attached?.kill('SIGKILL');
    await proxy?.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const image = await forwarderImage(container, signal);
    // For whatever user the engine maps the scheduler to; the enclosing folder keeps everyone else out.
    const shared = join(folder, 'way');
    await mkdir(shared);
    proxy = await startEgressProxy(join(shared, 'egress'), reach);
    await Promise.all([chmod(shared, 0o755), chmod(join(shared, 'egress'), 0o666)]);
    const settings = {
      folders: [],
      socket: `${OWN}/egress`,
      env: null,
      proxy_port: PROXY_PORT,
      loopback,
    };
    await runEngine(
      container,
      [
        'create',
        '--rm',
        `--name=${name}`,
        `--label=${label}=${run_id}`,
        '--network=none',
        '--read-only',
        '--cap-drop=ALL',
        '--security-opt=no-new-privileges',
        '--security-opt=label=disable',
        '--memory=256m',
        '--pids-limit=64',
        `--user=${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`,
        `--volume=${shared}:${OWN}:ro`,
        image,
        process.execPath,
        '/forward.cjs',
        JSON.stringify(settings),
      ],
      container.cli_env,
      signal,
    );
    attached = startAttached(container, name);
    await isReady(attached, signal);
    return { network: `container:${name}`, env: proxyVariables(PROXY_PORT), close };
  } catch (err) {
    await close();
    throw err;
  }
}

/** It ends when its container does. */
function startAttached({ cli: [program = '', ...args], cli_env: env }: Engine, name: string): ChildProcess {
  return spawn(program, [...args, 'start', '--attach', name], {
    env,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Waits until the forwarder is listening. Throws AdapterError `config` if it never is. */
async function isReady(child: ChildProcess, signal: AbortSignal): Promise<void> {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)));
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
  const ready = new Promise<boolean>((done) => {
    child.stdout?.once('data', () => done(true));
    for (const event of ['close', 'error']) child.once(event, () => done(false));
    limit.addEventListener('abort', () => done(false), { once: true });
  });
  if (await ready) return;
  signal.throwIfAborted();
  const why = said.trim() || 'its forwarder did not start';
  throw new AdapterError('config', `the container has no way out: ${why}`);
}

/** Built from the running Node.js, once per engine: nothing needs to be downloaded or configured. */
async function forwarderImage(container: ContainerSpec, signal: AbortSignal): Promise<string> {
  const parts = [process.execPath, ...(await librariesOf(process.execPath))];
  const script = await readFile(FORWARDER, 'utf8');
  const tag = sha256Hex(JSON.stringify([process.version, process.arch, parts, script])).slice(0, 16);
  const image = `localhost/service-way-out:${tag}`;
  const found = await engine(container, ['image', 'inspect', '--format={{.Id}}', image]);
  if (found.trim() !== '') return image;
  // Links are resolved: a library is stored under the name by which it is loaded.
  const relative = parts.map((path) => path.replace(/^\/+/, ''));
  const archive = spawn(
    'tar',
    [
      '-chf',
      '-',
      '-C',
      '/',
      '--no-recursion',
      'etc',
      'dev',
      'proc',
      'sys',
      'run',
      'tmp',
      ...relative,
      '--transform=s|^inside\\.cjs$|forward.cjs|',
      '-C',
      dirname(FORWARDER),
      'inside.cjs',
    ],
    { stdio: ['ignore', 'pipe', 'ignore'], signal },
  );
  archive.once('error', () => archive.stdout.destroy());
  await runEngine(container, ['import', '-', image], container.cli_env, signal, archive.stdout);
  return image;
}

/** Libraries a program is linked with, including the loader. */
async function librariesOf(program: string): Promise<string[]> {
  const listed = await engine({ cli: ['ldd'], cli_env: { PATH: '/usr/bin:/bin' } }, [program]);
  return [...new Set(listed.match(/(?<=\s)\/\S+/g) ?? [])];
}

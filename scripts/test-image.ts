// `npm run test:image`: builds the container image, measures it, runs both tiers from it, and the whole compose file if the
// engine has `compose`. The engine is the first of SERVICE_CONTAINER_CLI, docker and podman that answers; without one it
// says so, and succeeds. `--image=<name>` uses an existing image.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const root = path.resolve(import.meta.dirname, '..');
/** A larger image has something in it that the service does not need. */
const MAX_BYTES = 400e6;

function output(command: readonly string[]): string | undefined {
  const [program = '', ...args] = command;
  const { status, stdout } = spawnSync(program, args, { cwd: root, encoding: 'utf8', timeout: 60_000 });
  return status === 0 ? stdout.trim() : undefined;
}

function run(command: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const [program = '', ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, env, stdio: 'inherit' });
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

const findEngine = (): string[] | undefined =>
  [process.env.SERVICE_CONTAINER_CLI, 'docker', 'podman']
    .filter((name) => name !== undefined && name !== '')
    .map((name) => name!.split(' '))
    .find((cli) => output([...cli, 'info']) !== undefined);

async function build(engine: readonly string[], version: string): Promise<string> {
  const image = `agent-control-plane:${version}`;
  const commit = output(['git', 'rev-parse', '--short', 'HEAD']) ?? 'dev';
  const stamps = [`SERVICE_BUILD_VERSION=${version}`, `SERVICE_BUILD_COMMIT=${commit}`];
  const args = stamps.flatMap((stamp) => ['--build-arg', stamp]);
  const code = await run([
    ...engine,
    'build',
    '-f',
    'deploy/container/Dockerfile',
    ...args,
    '-t',
    image,
    '.',
  ]);
  if (code !== 0) throw new Error('the image can’t be built');
  return image;
}

function measure(engine: readonly string[], image: string): void {
  const bytes = Number(output([...engine, 'image', 'inspect', '--format', '{{.Size}}', image]));
  if (!(bytes > 0)) throw new Error(`the engine knows no image ${image}`);
  console.log(`${image}: ${(bytes / 1e6).toFixed(0)} MB`);
  if (bytes >= MAX_BYTES) throw new Error(`more than ${MAX_BYTES / 1e6} MB`);
}

function test(engine: readonly string[], image: string): Promise<number> {
  const bin = path.join(root, 'node_modules/.bin');
  return run([path.join(bin, 'jest'), '--config=tests/deploy/jest.config.json', '--runInBand'], {
    ...process.env,
    PATH: `${bin}${path.delimiter}${process.env.PATH ?? ''}`,
    NODE_OPTIONS: '--experimental-vm-modules --disable-warning=ExperimentalWarning',
    CONTAINER_CLI: engine.join(' '),
    CONTAINER_TEST_IMAGE: image,
    CONTAINER_TEST_COMPOSE: output([...engine, 'compose', 'version']) === undefined ? '' : 'yes',
  });
}

const { values } = parseArgs({ options: { image: { type: 'string' } } });
const engine = findEngine();
if (engine === undefined) {
  console.log('skipped: no container engine answers');
} else {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const image = values.image ?? (await build(engine, version));
  measure(engine, image);
  process.exitCode = await test(engine, image);
}

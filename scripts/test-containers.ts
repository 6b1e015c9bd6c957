// `npm run test:containers`: tests the container adapters against a real engine, the first of SERVICE_CONTAINER_CLI, docker
// and podman that answers. The image is made of a static busybox, and of the second vendor's CLI if REAL_CLIS_FOLDER
// contains it. If that is not possible it says why, and succeeds.
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runJest } from './run-jest.ts';

const IMAGE = 'localhost/service-container-test:1';
const TOOLS = ['sh', 'cat', 'echo', 'env', 'id', 'ls', 'printf', 'sleep', 'sort', 'touch', 'tr'];
const CLI = 'node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex';

function output(command: readonly string[], input?: Buffer): Buffer | undefined {
  const [program = '', ...args] = command;
  const { status, stdout } = spawnSync(program, args, { input, maxBuffer: 2 ** 30, timeout: 300_000 });
  return status === 0 ? stdout : undefined;
}

function findEngine(): string[] | undefined {
  const candidates = [process.env.SERVICE_CONTAINER_CLI, 'docker', 'podman'];
  return candidates
    .filter((name) => name !== undefined && name !== '')
    .map((name) => name!.split(' '))
    .find((cli) => output([...cli, 'info']) !== undefined);
}

/** Copies a program and the libraries it is linked with. @returns whether the libraries could be determined */
function copyProgram(folder: string, program: string, name: string): boolean {
  const listed = output(['ldd', program])?.toString();
  if (listed === undefined) return false;
  const libraries = listed.match(/(?<=\s)\/\S+/g) ?? [];
  const inside = (file: string) => path.join(folder, file);
  for (const file of [...libraries, name]) mkdirSync(path.dirname(inside(file)), { recursive: true });
  for (const file of libraries) copyFileSync(file, inside(file));
  copyFileSync(program, inside(name));
  return true;
}

/** Contents of the image. */
interface Held {
  has_cli: boolean;
  has_node: boolean;
  has_git: boolean;
}

/** @returns whether the image contains the CLI, Node and git; undefined if no image could be built. */
function makeImage(engine: readonly string[]): Held | undefined {
  const busybox = ['/bin/busybox', '/usr/bin/busybox'].find((file) => existsSync(file));
  if (busybox === undefined || output([busybox, 'true']) === undefined) return undefined;
  const folder = mkdtempSync(path.join(tmpdir(), 'container-image-'));
  try {
    const inside = (name: string) => path.join(folder, name);
    for (const name of ['bin', 'etc', 'home/agent', 'tmp', 'workspace', 'proc', 'sys', 'dev'])
      mkdirSync(inside(name), { recursive: true });
    cpSync(busybox, inside('bin/busybox'));
    for (const tool of TOOLS) symlinkSync('busybox', inside(`bin/${tool}`));
    const cli = path.join(process.env.REAL_CLIS_FOLDER ?? '/nowhere', CLI);
    const has_cli = existsSync(cli);
    if (has_cli) cpSync(cli, inside('bin/codex'));
    const has_node = copyProgram(folder, process.execPath, '/usr/bin/node');
    symlinkSync('../../bin/busybox', inside('usr/bin/env'));
    const has_git = existsSync('/usr/bin/git') && copyProgram(folder, '/usr/bin/git', '/usr/bin/git');
    const archive = output(['tar', '-C', folder, '-c', '.']);
    const made = archive && output([...engine, 'import', '-', IMAGE], archive);
    return made && { has_cli, has_node, has_git };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function test(engine: readonly string[], { has_cli, has_node, has_git }: Held): Promise<number> {
  return runJest(['--config=tests/containers/jest.config.json'], {
    CONTAINER_CLI: engine.join(' '),
    CONTAINER_TEST_IMAGE: IMAGE,
    CONTAINER_TEST_CLI: has_cli ? 'yes' : 'no',
    CONTAINER_TEST_NODE: has_node ? 'yes' : 'no',
    CONTAINER_TEST_GIT: has_git ? 'yes' : 'no',
  });
}

const engine = findEngine();
const image = engine && makeImage(engine);
if (engine === undefined) process.stdout.write('skipped: no container engine answers\n');
else if (image === undefined)
  process.stdout.write('skipped: no image could be made: is a static busybox installed?\n');
else if (output([...engine, 'run', '--rm', '--network=none', IMAGE, '/bin/echo', 'ok']) === undefined)
  process.stdout.write('skipped: the engine runs no container on this machine\n');
else process.exitCode = await test(engine, image);

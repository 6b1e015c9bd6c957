import { chown, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Folder } from './folder.ts';

/** Whom the server runs as; spread into the options of child_process. Empty: as ourselves. */
export interface Account {
  uid?: number;
  gid?: number;
}

// Where /etc/passwd names no `nobody`, the number that Linux gives it everywhere.
const NOBODY: Required<Account> = { uid: 65_534, gid: 65_534 };

/** PostgreSQL refuses to run as root: then it runs as the owner of its data, and as `nobody` on a first start. */
export async function chooseAccount(folder: Folder): Promise<Account> {
  const self = process.geteuid?.() ?? 0;
  const owner = await stat(folder.data).catch(() => undefined);
  if (self !== 0) {
    if (owner !== undefined && owner.uid !== self) {
      throw new Error(
        `${folder.data} belongs to the user with id ${owner.uid}: start the service as that user or as root`,
      );
    }
    return {};
  }
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const account = await nobody();
  // A copy that root has put back, from a backup for one.
  if (owner !== undefined) await changeOwner(folder.data, account);
  return account;
}

async function nobody(): Promise<Required<Account>> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const fields = passwd
    .split('\n')
    .find((line) => line.startsWith('nobody:'))
    ?.split(':');
  const uid = Number(fields?.[2]);
  const gid = Number(fields?.[3]);
  return uid > 0 && gid > 0 ? { uid, gid } : NOBODY;
}

async function changeOwner(folder: string, { uid, gid }: Required<Account>): Promise<void> {
  await chown(folder, uid, gid);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) await chown(path.join(entry.parentPath, entry.name), uid, gid);
  }
}

/**
 * The data folder as the server is told it. Another account may not be able to walk there (a checkout under a closed
 * home), but it may use the working directory that it was started in, whose name needs no walk.
 */
export function dataArgument(account: Account, folder: string): string {
  return account.uid === undefined ? folder : '/proc/self/cwd';
}

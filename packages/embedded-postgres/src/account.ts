import { chown, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { unavailable } from '@acp/kernel';
import type { Folder } from './folder.ts';

/** The account the server runs under, spread into the options of child_process. Empty: our own. */
export interface Account {
  uid?: number;
  gid?: number;
}

// Used if /etc/passwd has no `nobody`: the id it has on practically every Linux.
const NOBODY: Required<Account> = { uid: 65_534, gid: 65_534 };

/** PostgreSQL refuses to run as root: it then runs as the owner of its data, or as `nobody` on a first start. */
export async function chooseAccount(folder: Folder): Promise<Account> {
  const self = process.geteuid?.() ?? 0;
  const owner = await stat(folder.data).catch(() => undefined);
  if (self !== 0) {
    if (owner !== undefined && owner.uid !== self) {
      throw unavailable(
        `${folder.data} belongs to the user with id ${owner.uid}: start the service as that user or as root`,
      );
    }
    return {};
  }
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const account = await nobody();
  // For example a copy that root restored from a backup.
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
 * The data folder as passed to the server. Another account may be unable to traverse the path to it (a checkout below a
 * private home), but it can use its working directory, which needs no traversal.
 */
export function dataArgument(account: Account, folder: string): string {
  return account.uid === undefined ? folder : '/proc/self/cwd';
}

import { chmod, mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from '@acp/kernel';

/** Everything about an embedded server is in one folder; removing the folder removes all traces. */
export interface Folder {
  root: string;
  /** PGDATA, owned by the account that the server runs under. */
  data: string;
  /** Superuser, password and port, mode 0600. */
  connection: string;
  log: string;
  /** One file per process that uses the server. */
  clients: string;
}

export async function prepareFolder(dataDir: string): Promise<Folder> {
  const wanted = path.resolve(dataDir);
  await makeFolders(wanted);
  // Links are resolved: locking and finding a live server compare this path with the kernel's.
  const root = await realpath(wanted);
  // Traversable, so that the server's account can reach binaries next to the data; everything sensitive inside is private.
  await chmod(root, 0o711);
  const folder = {
    root,
    data: path.join(root, 'data'),
    connection: path.join(root, 'connection.json'),
    log: path.join(root, 'postgres.log'),
    clients: path.join(root, 'clients'),
  };
  await mkdir(folder.clients, { recursive: true, mode: 0o700 });
  return folder;
}

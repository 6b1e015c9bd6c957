import { chmod, mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';

/** Everything of one embedded server lies in one folder; removing the folder removes the server's traces. */
export interface Folder {
  root: string;
  /** PGDATA, owned by the account that the server runs under. */
  data: string;
  /** Superuser, password and port, mode 0600. */
  connection: string;
  log: string;
  /** One file for each process that uses the server. */
  clients: string;
}

export async function prepareFolder(dataDir: string): Promise<Folder> {
  const wanted = path.resolve(dataDir);
  await mkdir(path.dirname(wanted), { recursive: true });
  await mkdir(wanted, { recursive: true });
  // Links followed: locks and the look for a live server compare this path with what the kernel says.
  const root = await realpath(wanted);
  // Passable, so that the server's account reaches binaries laid beside the data; what matters inside is closed.
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

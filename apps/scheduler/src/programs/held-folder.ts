import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises';
import { UnsafePlace } from '@acp/kernel';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * A folder that is kept open: operations through `here` take place in it, wherever its path leads by then. Other programs
 * get the path; call `assertInPlace` before they use it.
 */
export class HeldFolder {
  /** Without links, when it was opened. */
  readonly path: string;
  /** A name for the folder itself. Without /proc, the path is all there is to go by. */
  readonly here: string;
  readonly #handle: FileHandle;
  readonly #identity: string;

  private constructor(path: string, here: string, handle: FileHandle, identity: string) {
    this.path = path;
    this.here = here;
    this.#handle = handle;
    this.#identity = identity;
  }

  /** @param path absolute and without links. Throws UnsafePlace if it has links or is not a folder. */
  static async open(path: string): Promise<HeldFolder> {
    const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((err: Error) => {
      throw new UnsafePlace(`it is not a folder: ${err.message}`);
    });
    try {
      const descriptor = `/proc/self/fd/${handle.fd}`;
      const place = await readlink(descriptor).catch(() => null);
      const { dev, ino } = await handle.stat({ bigint: true });
      const here = place === null ? path : descriptor;
      const folder = new HeldFolder(path, here, handle, `${dev}:${ino}`);
      await folder.assertInPlace();
      return folder;
    } catch (err) {
      await handle.close();
      throw err;
    }
  }

  /** Device and inode number of the folder, as `dev:ino`. */
  get identity(): string {
    return this.#identity;
  }

  /** Throws UnsafePlace if the path now leads to a different folder. */
  async assertInPlace(): Promise<void> {
    const place = this.here === this.path ? this.path : await readlink(this.here).catch(() => null);
    const found = await lstat(this.path, { bigint: true }).catch(() => null);
    const same = found !== null && `${found.dev}:${found.ino}` === this.#identity;
    if (place !== this.path || !same) throw new UnsafePlace('it was exchanged for another folder');
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

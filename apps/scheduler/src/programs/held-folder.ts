import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises';
import { UnsafePlace } from '@acp/kernel';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * A folder that is held open: what is done by `here` is done in it, whatever its path leads to by then. Others are given the
 * path, and ask `assertInPlace` in front of using it.
 */
export class HeldFolder {
  /** Without links, when it was opened. */
  readonly path: string;
  /** A name for the folder itself. Where there is no /proc, the path is all that there is to go by. */
  readonly here: string;
  readonly #handle: FileHandle;
  readonly #identity: string;

  private constructor(path: string, here: string, handle: FileHandle, identity: string) {
    this.path = path;
    this.here = here;
    this.#handle = handle;
    this.#identity = identity;
  }

  /** @param path absolute and without links. Throws UnsafePlace where it has some, or is no folder. */
  static async open(path: string): Promise<HeldFolder> {
    const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((err: Error) => {
      throw new UnsafePlace(`it is no folder: ${err.message}`);
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

  /** The device and number of the folder, as `dev:ino`. */
  get identity(): string {
    return this.#identity;
  }

  /** Throws UnsafePlace where the path leads to another folder than the one that is held. */
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

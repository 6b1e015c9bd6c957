import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { ApprovedBinary } from '@acp/core';
import { conflict, isUuid, said, unavailable } from '@acp/kernel';
import { type FileStore, readIntact, type Storage } from '@acp/storage';

const { O_NONBLOCK, O_RDONLY } = constants;
/** Maximum size of a binary. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Prefix of the folder's name, followed by the plugin and its owner's fence. */
const FOLDER = 'service-plugin-';

/** Opens a binary on this machine's disk. @throws conflict if it can't be read, is not a file, or is too large */
async function openBinary(path: string): Promise<FileHandle> {
  let file: FileHandle;
  try {
    // Without O_NONBLOCK, opening a pipe would block.
    file = await open(path, O_RDONLY | O_NONBLOCK);
  } catch (err) {
    const code = err instanceof Error && 'code' in err ? String(err.code) : 'unknown error';
    throw conflict(said`plugin binary can't be read: ${code}`);
  }
  const { size } = await file.stat();
  const isFile = (await file.stat()).isFile();
  if (isFile && size > 0 && size <= MAX_BYTES) return file;
  await file.close();
  throw conflict(
    isFile ? said`plugin binary has ${size} bytes, not 1 to ${MAX_BYTES}` : 'plugin binary is not a file',
  );
}

/** SHA-256, in hex, of the file now on disk. @throws conflict */
export async function hashBinary(path: string): Promise<string> {
  const file = await openBinary(path);
  const hash = createHash('sha256');
  for await (const chunk of file.createReadStream({ end: MAX_BYTES })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** The file's hash on this machine; undefined if it is not there. */
export async function hashIfThere(path: string | null): Promise<string | undefined> {
  if (path === null) return undefined;
  return hashBinary(path).catch(() => undefined);
}

/**
 * Copies the binary into the storage and hashes the very bytes that are copied; `keep` writes the row. Changes to the file
 * in the meantime may or may not be in the copy: the hash is the copy's.
 */
export async function copyBinary<T>(
  files: FileStore,
  plugin_id: string,
  path: string,
  keep: (copy: { storage_key: string; sha256: string; size_bytes: number }) => Promise<T>,
): Promise<T> {
  const file = await openBinary(path);
  const body = file.createReadStream({ end: MAX_BYTES });
  const about = { filename: basename(path), content_type: 'application/octet-stream', max_bytes: MAX_BYTES };
  return files.putFile(['plugins', plugin_id], body as AsyncIterable<Uint8Array>, about, keep);
}

/** A copy to be run, in a folder of its own. */
interface LaidBinary {
  file: string;
  remove: () => Promise<void>;
}

/** ELF; Mach-O in both byte orders and as a universal binary; `#!`. */
const PROGRAMS = ['7f454c46', 'cffaedfe', 'feedfacf', 'cafebabe', '2321'];

/**
 * A file whose first bytes are no program's would be read by a shell, which quotes its content in its errors: that would
 * expose any file that the scheduler can read. @throws conflict
 */
function assertProgram(start: Buffer): void {
  if (!PROGRAMS.some((magic) => start.subarray(0, magic.length / 2).toString('hex') === magic))
    throw conflict('plugin binary is not a program: it begins neither with #! nor as an executable');
}

/**
 * Writes the approved copy to where it can be run, again for each start: an unsandboxed process could have overwritten the
 * previous one.
 * @param below where the copy gets a folder of its own
 * @throws conflict if the stored bytes are no program or not those approved, unavailable if they are missing
 */
export async function placeBinary(
  storage: Pick<Storage, 'get'>,
  binary: ApprovedBinary,
  { plugin_id, fence, name }: { plugin_id: string; fence: number; name: string },
  below = tmpdir(),
): Promise<LaidBinary> {
  await mkdir(below, { recursive: true });
  const folder = await mkdtemp(join(below, `${FOLDER}${plugin_id}.${fence}.`));
  const remove = async () => rm(folder, { recursive: true, force: true });
  try {
    const file = join(folder, /^[\w.-]{1,100}$/.test(name) && !/^\.+$/.test(name) ? name : randomUUID());
    const handle = await open(file, 'wx', 0o500);
    const another = (): Error => conflict('the stored copy of the binary does not have the allowed hash');
    try {
      const body = await storage.get(binary.storage_key);
      if (body === undefined) throw unavailable('the allowed copy of the binary is not in the storage');
      await readIntact(body, binary, another, async (bytes) => {
        let isChecked = false;
        for await (const chunk of bytes) {
          if (!isChecked) assertProgram(chunk as Buffer);
          isChecked = true;
          await handle.writeFile(chunk);
        }
      });
    } finally {
      await handle.close();
    }
    return { file, remove };
  } catch (err) {
    await remove();
    throw err;
  }
}

/**
 * Removes the copies left by schedulers that were killed on this machine. @param current the lowest fence that may be in
 * use, for each plugin that exists
 */
export async function sweepBinaries(
  current: (plugin_ids: string[]) => Promise<ReadonlyMap<string, number>>,
): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(FOLDER));
  const found = names.map((name) => {
    const [plugin_id = '', fence] = name.slice(FOLDER.length).split('.');
    return { name, plugin_id, fence: Number(fence) };
  });
  const fences = await current(found.map(({ plugin_id }) => plugin_id).filter(isUuid));
  for (const { name, plugin_id, fence } of found)
    if ((fences.get(plugin_id) ?? fence) > fence)
      await rm(join(tmpdir(), name), { recursive: true, force: true });
}

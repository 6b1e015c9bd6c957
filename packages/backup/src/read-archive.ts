import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { type BackupHeader, type BackupTrailer, readBackupHeader, readBackupTrailer } from '@acp/contract';
import { invalid, ServiceError } from '@acp/kernel';
import { extract } from 'tar-stream';
import { discard } from './discard.ts';
import { type BackupKeys, FrameReader } from './frames.ts';

export type { BackupKeys };

const MAX_JSON_BYTES = 64 * 1024 * 1024;
/** Several times as many as there are; PostgreSQL's limit of their names. */
const MOST_TABLES = 1000;
const LONGEST_NAME = 63;

export interface ArchivedFile {
  /** `storage/…` or `homes/…`. */
  path: string;
  /** The body of any other than a file is empty. */
  type: 'file' | 'folder' | 'link';
  size: number;
  mode: number;
  /** Of a symbolic link. */
  target: string;
}

/** Receives the archive's content, in its order. A body is read to its end before the next call. */
interface ArchiveVisitor {
  header?(header: BackupHeader): Promise<void>;
  /** Called for each piece of a table; with `null` after the last of all. */
  rows?(table: string | null, piece: Buffer): Promise<void>;
  file?(file: ArchivedFile, body: AsyncIterable<Buffer>): Promise<void>;
}

interface Entry extends AsyncIterable<Buffer> {
  header: { name: string; size?: number; mode?: number; type?: string | null; linkname?: string | null };
}

/**
 * Reads a backup to its end, passes its content to the visitor, and compares it with the checksums at its end.
 * @throws invalid if it is none, damaged, truncated, or encrypted with a key that is not configured, or not at all
 */
export async function readArchive(
  file: Readable,
  keys: BackupKeys,
  visitor: ArchiveVisitor = {},
): Promise<{ header: BackupHeader; trailer: BackupTrailer }> {
  const sums = new Sums();
  let header: BackupHeader | undefined;
  let trailer: BackupTrailer | undefined;
  let rowsEnded = false;
  const endRows = async (): Promise<void> => {
    if (!rowsEnded) await visitor.rows?.(null, Buffer.alloc(0));
    rowsEnded = true;
  };
  for await (const entry of entriesOf(file, keys)) {
    const { name } = entry.header;
    if (trailer !== undefined) throw invalid('the backup has data after its end');
    if (header === undefined) {
      if (name !== 'backup.json') throw invalid('this is not a backup');
      header = readBackupHeader(await jsonOf(entry));
      await visitor.header?.(header);
    } else if (name.startsWith('database/')) {
      if (rowsEnded) throw invalid('the backup is out of order');
      const [, table = ''] = name.split('/');
      const piece = await bytesOf(entry);
      sums.addRows(table, piece);
      await visitor.rows?.(table, piece);
      discard(piece.length);
    } else if (name === 'end.json') {
      await endRows();
      trailer = readBackupTrailer(await jsonOf(entry));
    } else {
      await endRows();
      await visitFile(entry, sums, visitor);
    }
  }
  if (header === undefined || trailer === undefined) throw invalid('the backup was cut off');
  sums.compare(trailer);
  return { header, trailer };
}

/** Reads the rows alone, which come before anything large, and compares them with nothing. */
export async function readRows(
  file: Readable,
  keys: BackupKeys,
  visit: (table: string, piece: Buffer) => Promise<void>,
): Promise<void> {
  for await (const entry of entriesOf(file, keys)) {
    const [top, table = ''] = entry.header.name.split('/');
    if (top !== 'backup.json' && top !== 'database') return;
    const piece = await bytesOf(entry);
    if (top === 'database') await visit(table, piece);
    discard(piece.length);
  }
}

/** By tar's names. */
const types: Partial<Record<string, ArchivedFile['type']>> = {
  file: 'file',
  directory: 'folder',
  symlink: 'link',
};

async function visitFile(entry: Entry, sums: Sums, visitor: ArchiveVisitor): Promise<void> {
  const { size = 0, mode = 0o600, linkname } = entry.header;
  const type = types[entry.header.type ?? 'file'];
  // That of a folder ends with a slash.
  const path = type === 'folder' ? entry.header.name.replace(/\/$/, '') : entry.header.name;
  if (type === undefined || !(type === 'file' ? /^(storage|homes)\// : /^homes\//).test(path))
    throw invalid('the backup has an unknown entry');
  if (path.split('/').some((name) => name === '' || name === '.' || name === '..'))
    throw invalid('the backup has a path that leads outside its folder');
  const hash = createHash('sha256');
  const body = (async function* hashed(): AsyncGenerator<Buffer> {
    for await (const chunk of entry) {
      hash.update(chunk);
      yield chunk;
      discard(chunk.length);
    }
  })();
  await visitor.file?.({ path, type, size, mode, target: linkname ?? '' }, body);
  for await (const _ of body);
  if (type === 'file') sums.addFile(path, size, hash.digest('hex'));
}

/** Checksums to compare with those at the archive's end. */
class Sums {
  readonly #tables = new Map<string, { hash: ReturnType<typeof createHash>; bytes: number }>();
  readonly #files = createHash('sha256');
  #count = 0;
  #bytes = 0;

  addRows(table: string, piece: Buffer): void {
    const known = this.#tables.get(table);
    if (known === undefined && (this.#tables.size === MOST_TABLES || table.length > LONGEST_NAME))
      throw damaged();
    const sum = known ?? { hash: createHash('sha256'), bytes: 0 };
    sum.hash.update(piece);
    sum.bytes += piece.length;
    this.#tables.set(table, sum);
  }

  addFile(path: string, size: number, sha256: string): void {
    this.#files.update(`${path}\0${sha256}\n`);
    this.#count += 1;
    this.#bytes += size;
  }

  /** @throws invalid */
  compare({ tables, files, file_bytes, files_sha256 }: BackupTrailer): void {
    for (const { name, bytes, sha256 } of tables) {
      const sum = this.#tables.get(name) ?? { hash: createHash('sha256'), bytes: 0 };
      if (sum.bytes !== bytes || sum.hash.digest('hex') !== sha256)
        throw invalid(`the backup is damaged: table ${name}`);
      this.#tables.delete(name);
    }
    for (const name of this.#tables.keys()) throw invalid(`the backup is damaged: table ${name}`);
    if (this.#count !== files || this.#bytes !== file_bytes || this.#files.digest('hex') !== files_sha256)
      throw invalid('the backup is damaged: files');
  }
}

async function* entriesOf(file: Readable, keys: BackupKeys): AsyncGenerator<Entry> {
  const frames = new FrameReader(keys);
  const plain = createZstdDecompress();
  const entries = extract();
  let broken: Error | undefined;
  // An error in any part destroys the last one, which the loop below notices.
  for (const part of [file, frames, plain])
    part.on('error', (error: Error) => {
      broken ??= isDamage(error) ? damaged() : error;
      entries.destroy(broken);
    });
  // What has come through all of these and is no archive has no words that an operator would know.
  const fault = (): Error => broken ?? damaged();
  file.pipe(frames).pipe(plain).pipe(entries);
  try {
    for await (const entry of entries as AsyncIterable<Entry>)
      yield { header: entry.header, [Symbol.asyncIterator]: () => failingBy(entry, fault) };
  } catch {
    throw fault();
  } finally {
    file.destroy();
    frames.destroy();
    plain.destroy();
  }
}

async function* failingBy(body: AsyncIterable<Buffer>, fault: () => Error): AsyncGenerator<Buffer, void> {
  try {
    yield* body;
  } catch {
    throw fault();
  }
}

const damaged = (): ServiceError => invalid('the backup is damaged');

/** zlib's errors for bytes that it can't read. */
function isDamage(error: Error): boolean {
  return 'code' in error && /^(Z_|ZSTD_|ERR_)/.test(String(error.code));
}

async function bytesOf(entry: Entry): Promise<Buffer> {
  if ((entry.header.size ?? 0) > MAX_JSON_BYTES) throw damaged();
  const chunks: Buffer[] = [];
  for await (const chunk of entry) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function jsonOf(entry: Entry): Promise<unknown> {
  try {
    return JSON.parse((await bytesOf(entry)).toString('utf8'));
  } catch (cause) {
    throw new ServiceError('invalid', 'the backup is damaged', { cause });
  }
}

/**
 * The file of a backup: one line of JSON, then the compressed archive in frames. With an encryption key each frame is
 * encrypted by AES-256-GCM under a key of the file's own. Its position and whether it is the last are part of the nonce,
 * so that frames can't be swapped, dropped or truncated.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import { invalid, type Vault } from '@acp/kernel';
import { discard } from './discard.ts';

const CIPHER = 'aes-256-gcm';
const FRAME_BYTES = 1024 * 1024;
const LENGTH_BYTES = 4;
const TAG_BYTES = 16;
const MAGIC = 'agent-control-plane-backup';
const MAX_LINE_BYTES = 4096;

interface FirstLine {
  magic: string;
  /** The file's key, encrypted by the instance's; null: not encrypted. */
  sealed_key: string | null;
}

/** What a backup is opened with. */
export interface BackupKeys {
  vault: Vault;
  /** Also without encryption, although there is a key: a file that anyone may have written who could write to its place. */
  accept_unsealed?: boolean;
}

const place = (id: string) => `backups/${id}`;

/** The first line of the file, and the stream that its archive is piped through. */
export function frameWriter(id: string, vault: Vault): { first_line: Buffer; frames: Transform } {
  const key = vault.available ? randomBytes(32) : null;
  const line: FirstLine & { id: string } = {
    magic: MAGIC,
    id,
    sealed_key: key && vault.seal(key.toString('base64'), place(id)),
  };
  return { first_line: Buffer.from(`${JSON.stringify(line)}\n`), frames: new FrameWriter(key) };
}

class FrameWriter extends Transform {
  readonly #key: Buffer | null;
  #pending: Buffer[] = [];
  #bytes = 0;
  #place = 0;

  constructor(key: Buffer | null) {
    super();
    this.#key = key;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#pending.push(chunk);
    this.#bytes += chunk.length;
    // Only the end shows which frame is the last, so one is always held back.
    while (this.#bytes > FRAME_BYTES) this.#write(this.#take(FRAME_BYTES), FRAME_BYTES, false);
    done();
  }

  override _flush(done: TransformCallback): void {
    this.#write(this.#pending, this.#bytes, true);
    done();
  }

  /** Takes pieces that add up to that many bytes. */
  #take(bytes: number): Buffer[] {
    const taken: Buffer[] = [];
    for (let left = bytes; left > 0;) {
      const piece = this.#pending[0]!;
      taken.push(piece.subarray(0, left));
      if (piece.length > left) this.#pending[0] = piece.subarray(left);
      else this.#pending.shift();
      left -= Math.min(left, piece.length);
    }
    this.#bytes -= bytes;
    return taken;
  }

  /** Writes piece by piece: copying whole frames would produce hundreds of megabytes of garbage a second. */
  #write(pieces: readonly Buffer[], bytes: number, last: boolean): void {
    const key = this.#key;
    const length = Buffer.alloc(LENGTH_BYTES);
    // The highest bit marks the last frame.
    length.writeUInt32BE((last ? 2 ** 31 : 0) + bytes + (key === null ? 0 : TAG_BYTES));
    this.push(length);
    if (key === null) for (const piece of pieces) this.push(piece);
    else {
      const cipher = createCipheriv(CIPHER, key, nonceOf(this.#place, last));
      for (const piece of pieces) this.push(cipher.update(piece));
      // A stream cipher returns nothing more at its end.
      cipher.final();
      this.push(cipher.getAuthTag());
    }
    this.#place += 1;
    discard(bytes);
  }
}

/**
 * The compressed archive of a backup file.
 * @throws invalid if it is none, truncated, modified, has an unknown key, or none against expectation
 */
export class FrameReader extends Transform {
  readonly #keys: BackupKeys;
  #buffered = Buffer.alloc(0);
  /** Chunks received since; joined to the buffer once a whole frame has arrived, so that each byte is copied once. */
  #pending: Buffer[] = [];
  #missing = 0;
  #key: Buffer | null | undefined;
  #place = 0;
  #ended = false;

  constructor(keys: BackupKeys) {
    super();
    this.#keys = keys;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#pending.push(chunk);
    this.#missing -= chunk.length;
    if (this.#missing > 0) {
      done();
      return;
    }
    this.#buffered = Buffer.concat([this.#buffered, ...this.#pending]);
    this.#pending = [];
    try {
      if (this.#key === undefined) this.#readFirstLine();
      if (this.#key !== undefined) this.#readFrames(this.#key);
      done();
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  }

  override _flush(done: TransformCallback): void {
    done(
      this.#ended && this.#buffered.length === 0 && this.#pending.length === 0
        ? null
        : invalid('the backup was cut off'),
    );
  }

  #readFirstLine(): void {
    const end = this.#buffered.indexOf(0x0a);
    if (end === -1) {
      if (this.#buffered.length > MAX_LINE_BYTES) throw invalid('this is not a backup');
      return;
    }
    const line = parseFirstLine(this.#buffered.subarray(0, end).toString('utf8'));
    this.#buffered = this.#buffered.subarray(end + 1);
    this.#key = this.#keyOf(line);
  }

  #keyOf({ id, sealed_key }: FirstLine & { id: string }): Buffer | null {
    const { vault, accept_unsealed = false } = this.#keys;
    if (sealed_key !== null) return Buffer.from(vault.unseal(sealed_key, place(id)), 'base64');
    if (vault.available && !accept_unsealed)
      throw invalid(
        'the backup is not encrypted, although SERVICE_ENCRYPTION_KEY is set: it may have been put there by someone else. If it was made before the key was set, add --unsealed',
      );
    return null;
  }

  #readFrames(key: Buffer | null): void {
    while (this.#buffered.length >= LENGTH_BYTES) {
      const word = this.#buffered.readUInt32BE(0);
      const last = word >= 2 ** 31;
      const bytes = word % 2 ** 31;
      if (this.#ended || bytes > FRAME_BYTES + TAG_BYTES) throw invalid('the backup is damaged');
      this.#missing = LENGTH_BYTES + bytes - this.#buffered.length;
      if (this.#missing > 0) return;
      const body = this.#buffered.subarray(LENGTH_BYTES, LENGTH_BYTES + bytes);
      this.push(key === null ? Buffer.from(body) : open(key, nonceOf(this.#place, last), body));
      this.#buffered = this.#buffered.subarray(LENGTH_BYTES + bytes);
      this.#place += 1;
      this.#ended = last;
      discard(bytes);
    }
  }
}

function parseFirstLine(text: string): FirstLine & { id: string } {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    throw invalid('this is not a backup');
  }
  const { magic, id, sealed_key } = line as Partial<FirstLine & { id: string }>;
  if (magic !== MAGIC || typeof id !== 'string') throw invalid('this is not a backup');
  if (sealed_key !== null && typeof sealed_key !== 'string') throw invalid('this is not a backup');
  return { magic, id, sealed_key };
}

function nonceOf(frame: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt8(last ? 1 : 0, 0);
  nonce.writeBigUInt64BE(BigInt(frame), 4);
  return nonce;
}

function open(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer {
  if (sealed.length < TAG_BYTES) throw invalid('the backup is damaged');
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    const plain = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES));
    decipher.final();
    return plain;
  } catch {
    throw invalid('the backup is damaged');
  }
}

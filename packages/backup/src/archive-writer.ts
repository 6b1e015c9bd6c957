import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack, type Pack } from 'tar-stream';
import { discard } from './discard.ts';

/** A table is split into entries of about this size: a tar entry's size must precede its bytes. */
const CHUNK_BYTES = 1024 * 1024;

/** Writes entries one by one, no faster than the reader of `stream` consumes them. */
export class ArchiveWriter {
  readonly #pack: Pack = pack({ highWaterMark: CHUNK_BYTES });
  readonly #read: (bytes: number) => void;

  /** @param read called with the number of bytes added */
  constructor(read: (bytes: number) => void) {
    this.#read = read;
  }

  /** A tar archive. */
  get stream(): Readable {
    return this.#pack as unknown as Readable;
  }

  async json(name: string, value: object): Promise<void> {
    await this.#bytes(name, Buffer.from(JSON.stringify(value)));
  }

  /** Writes the source as numbered entries below `name`. */
  async chunked(name: string, source: AsyncIterable<Buffer>): Promise<{ bytes: number; sha256: string }> {
    const hash = createHash('sha256');
    let pending: Buffer[] = [];
    let [waiting, bytes, place] = [0, 0, 0];
    const write = async (): Promise<void> => {
      place += 1;
      await this.#bytes(`${name}/${String(place).padStart(8, '0')}`, Buffer.concat(pending));
      [pending, waiting] = [[], 0];
    };
    for await (const chunk of source) {
      hash.update(chunk);
      pending.push(chunk);
      waiting += chunk.length;
      bytes += chunk.length;
      if (waiting >= CHUNK_BYTES) await write();
    }
    if (waiting > 0) await write();
    return { bytes, sha256: hash.digest('hex') };
  }

  /** @param source of exactly that many bytes. @returns their SHA-256 */
  async file(
    name: string,
    { size, mode = 0o600 }: { size: number; mode?: number },
    source: AsyncIterable<Buffer>,
  ): Promise<string> {
    const hash = createHash('sha256');
    const add = this.#read;
    const hashed = (async function* read(): AsyncGenerator<Buffer> {
      for await (const chunk of source) {
        hash.update(chunk);
        add(chunk.length);
        yield chunk;
        discard(chunk.length);
      }
    })();
    await this.#entry({ name, size, mode }, hashed);
    return hash.digest('hex');
  }

  async link(name: string, target: string): Promise<void> {
    await this.#entry({ name, type: 'symlink', linkname: target });
  }

  async folder(name: string): Promise<void> {
    await this.#entry({ name, type: 'directory' });
  }

  end(): void {
    this.#pack.finalize();
  }

  destroy(error: Error): void {
    this.#pack.destroy(error);
  }

  async #bytes(name: string, bytes: Buffer): Promise<void> {
    await this.#entry({ name, size: bytes.length }, [bytes]);
    this.#read(bytes.length);
    discard(bytes.length);
  }

  /** @throws Error if the source has more or fewer bytes than the header says */
  #entry(header: Parameters<Pack['entry']>[0], source?: AsyncIterable<Buffer> | Buffer[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const sink = this.#pack.entry(header, (error) => (error ? reject(error) : resolve()));
      if (source !== undefined) pipeline(source, sink).catch(reject);
    });
  }
}

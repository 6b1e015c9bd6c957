import type { FileRule } from '@acp/contract';
import { cleanContentType, cleanFilename } from '@acp/core';
import type { FailedFile, StoredFile } from '@acp/core';
import { invalid, said, ServiceError, tooLarge } from '@acp/kernel';
import type { FileStore } from '@acp/storage';
import type { Readable } from 'node:stream';

/** A small file, kept in memory: its handler inspects it before anything is stored. */
export interface MemoryFile {
  readonly filename: string;
  readonly content_type: string;
  readonly bytes: Buffer;
}

export type UploadedFile = StoredFile | FailedFile | MemoryFile;

/** Set by the operator (SERVICE_MAX_UPLOAD_SIZE, SERVICE_ATTACHMENT_MAX_*). */
export interface UploadLimits {
  /** Limit for all files and fields of a request together. */
  readonly upload_bytes: number;
  readonly attachment_bytes: number;
  readonly attachment_files: number;
}

/** A part with a file name, as passed by the parser. */
export interface FilePart {
  readonly fieldname: string;
  readonly originalname: string;
  readonly mimetype: string;
  readonly stream: Readable;
}

/** `25 MB`: rounded down, so that it is never more than what is accepted. */
function sizeInWords(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${tenths(bytes / 1000)} kB` : `${tenths(bytes / 1_000_000)} MB`;
}

const tenths = (value: number): number => Math.floor(value * 10) / 10;

/** The owner of the files: their keys start with this id. */
export function ownerOf(
  { into }: FileRule,
  { company_id, subject }: { company_id: string; subject: unknown },
): string {
  if (into === 'memory' || into.under !== 'subject') return company_id;
  return (subject as { id: string }).id;
}

/** The files of one request, from the first byte until a row keeps them or they are removed. */
export class Upload {
  readonly max_files: number;
  /** Limit for all files and fields together. */
  readonly max_bytes: number;
  readonly #maxFileBytes: number;
  readonly #rule: FileRule;
  readonly #store: FileStore;
  /** The level below the folder: the id of the company or of the files' owner. */
  readonly #owner: string;
  readonly #files: Promise<UploadedFile>[] = [];
  readonly #keys: string[] = [];
  readonly #abort = new AbortController();
  #received = 0;

  constructor(rule: FileRule, limits: UploadLimits, store: FileStore, owner: string) {
    this.#rule = rule;
    this.#store = store;
    this.#owner = owner;
    const { limit } = rule;
    this.max_files = limit === 'attachments' ? limits.attachment_files : 1;
    this.max_bytes = limits.upload_bytes;
    this.#maxFileBytes = Math.min(
      limits.upload_bytes,
      typeof limit === 'number' ? limit : limit === 'attachments' ? limits.attachment_bytes : Infinity,
    );
  }

  /** The refusal of more files than the limit. */
  tooManyFiles(): ServiceError {
    return tooLarge(said`too many files: ${this.max_files} at most`);
  }

  /** The refusal of more than the limit for all files and fields together. */
  tooMuch(): ServiceError {
    return tooLarge(said`payload too large: ${sizeInWords(this.max_bytes)} at most`);
  }

  /** Resolves once the part is read to its end. Throws `invalid` for a part with another name, `too_large`. */
  async take(part: FilePart): Promise<void> {
    const taken = this.#take(part);
    this.#files.push(taken);
    await taken;
  }

  /** Counts the text fields towards the limit. @throws too_large */
  takeFields(fields: Readonly<Record<string, unknown>>): void {
    for (const [name, value] of Object.entries(fields))
      this.#count(Buffer.byteLength(name) + Buffer.byteLength(String(value)));
  }

  /** In the order of their parts. Throws `invalid` if the row requires a file and none was sent. */
  async files(): Promise<UploadedFile[]> {
    if (this.#rule.required && this.#files.length === 0)
      throw invalid(said`a file is required in the field ${this.#rule.field}`);
    return Promise.all(this.#files);
  }

  /** Removes everything that no row has kept. Never throws. */
  async discard(): Promise<void> {
    this.#abort.abort(invalid('the upload was cut off'));
    // A put that finishes after the removal would leave orphaned bytes.
    await Promise.allSettled(this.#files);
    await this.#store.discard(this.#keys);
  }

  async #take(part: FilePart): Promise<UploadedFile> {
    const { field, into } = this.#rule;
    if (field !== '*' && part.fieldname !== field)
      throw invalid(said`a file is expected in the field ${field} only`);
    const filename = cleanFilename(part.originalname);
    const content_type = cleanContentType(part.mimetype);
    if (into === 'memory') return { filename, content_type, bytes: await this.#collect(part.stream) };
    const storage_key = await this.#store.reserve(into.folder, this.#owner);
    this.#keys.push(storage_key);
    try {
      const options = { max_bytes: this.#maxFileBytes, content_type, signal: this.#abort.signal };
      const stored = await this.#store.put(storage_key, this.#chunks(part.stream), options);
      return { filename, content_type, storage_key, ...stored };
    } catch (error) {
      if (!this.#rule.tolerant || !(error instanceof ServiceError) || error.kind !== 'unavailable')
        throw error;
      // The parser proceeds to the next part only after this one is read to its end.
      part.stream.resume();
      await this.#store.discard([storage_key]);
      return { filename, error: error.message };
    }
  }

  async #collect(stream: Readable): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#chunks(stream)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Counts the bytes. An abort leaves the stream alone: it belongs to the parser. */
  async *#chunks(stream: Readable): AsyncGenerator<Uint8Array> {
    let size = 0;
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Uint8Array;
      size += bytes.length;
      if (size > this.#maxFileBytes)
        throw tooLarge(said`file too large: ${sizeInWords(this.#maxFileBytes)} at most`);
      this.#count(bytes.length);
      yield bytes;
    }
  }

  #count(bytes: number): void {
    this.#received += bytes;
    if (this.#received > this.max_bytes) throw this.tooMuch();
  }
}

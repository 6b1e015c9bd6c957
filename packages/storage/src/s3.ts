/** Objects in a bucket of an S3-compatible store. Imported only where SERVICE_STORAGE=s3: the client is large. */
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { ServiceError, unavailable } from '@acp/kernel';
import { Meter } from './metered.ts';
import { checkFolder, checkKey } from './storage.ts';
import type { ByteRange, ListedObject, PutOptions, Storage, StoredObject } from './storage.ts';

export interface S3Settings {
  bucket: string;
  region: string;
  endpoint: string | null;
  /** Null: the platform's default chain. */
  access_key_id: string | null;
  secret_access_key: string | null;
  force_path_style: boolean;
}

// The least that the protocol allows; with one part on its way at a time an upload holds about two of them in memory.
const PART_BYTES = 5 * 1024 * 1024;
const CONNECTION_TIMEOUT_MS = 5000;
const REQUEST_TIMEOUT_MS = 60_000;

export class S3Storage implements Storage {
  readonly kind = 's3';
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(settings: S3Settings) {
    const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = settings;
    this.#bucket = settings.bucket;
    this.#client = new S3Client({
      region: settings.region,
      forcePathStyle: settings.force_path_style,
      ...(settings.endpoint !== null && { endpoint: settings.endpoint }),
      ...(accessKeyId !== null &&
        secretAccessKey !== null && { credentials: { accessKeyId, secretAccessKey } }),
      // Not every compatible store knows the newer checksums; ours is the SHA-256 in the row.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: CONNECTION_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    });
  }

  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject> {
    checkKey(key);
    const meter = new Meter(options.max_bytes);
    // What the body threw comes back wrapped or not at all: it is kept, for it says what to answer.
    let ofBody: unknown;
    const measured = async function* (): AsyncGenerator<Uint8Array> {
      try {
        yield* meter.measure(body, options.signal);
      } catch (error) {
        ofBody = error;
        throw error;
      }
    };
    const upload = new Upload({
      client: this.#client,
      params: {
        Bucket: this.#bucket,
        Key: key,
        Body: Readable.from(measured(), { objectMode: false }),
        ContentType: options.content_type,
      },
      partSize: PART_BYTES,
      queueSize: 1,
    });
    const abort = () => void upload.abort();
    options.signal?.addEventListener('abort', abort, { once: true });
    try {
      await upload.done();
    } catch (error) {
      throw ofBody ?? (options.signal?.aborted ? options.signal.reason : storeError(error));
    } finally {
      options.signal?.removeEventListener('abort', abort);
    }
    return meter.result();
  }

  async get(key: string, range?: ByteRange): Promise<Readable | undefined> {
    checkKey(key);
    const Range = range && `bytes=${range.start}-${range.end}`;
    const found = await orUndefined(
      this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key, Range })),
    );
    if (found === undefined) return undefined;
    if (!(found.Body instanceof Readable)) throw unavailable('storage unavailable');
    return found.Body;
  }

  async size(key: string): Promise<number | undefined> {
    checkKey(key);
    const found = await orUndefined(
      this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key: key })),
    );
    return found && (found.ContentLength ?? 0);
  }

  async exists(key: string): Promise<boolean> {
    return (await this.size(key)) !== undefined;
  }

  async delete(key: string): Promise<void> {
    checkKey(key);
    await orUndefined(this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key })));
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    checkFolder(folder);
    try {
      const input = { Bucket: this.#bucket, Prefix: folder };
      for await (const page of paginateListObjectsV2({ client: this.#client }, input))
        for (const { Key, Size, LastModified } of page.Contents ?? [])
          if (Key !== undefined)
            yield { key: Key, size_bytes: Size ?? 0, updated_at: LastModified ?? new Date(0) };
    } catch (error) {
      throw storeError(error);
    }
  }

  /** One page at most: the next call takes the next. Stores without this listing have their own rules for it. */
  async removeLeftovers(begunBefore: Date): Promise<void> {
    const listed = await this.#client
      .send(new ListMultipartUploadsCommand({ Bucket: this.#bucket }))
      .catch((error: unknown) => {
        if (error instanceof S3ServiceException) return { Uploads: [] };
        throw storeError(error);
      });
    for (const { Key, UploadId, Initiated } of listed.Uploads ?? []) {
      if (Initiated === undefined || Initiated >= begunBefore) continue;
      await orUndefined(
        this.#client.send(new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId })),
      );
    }
  }

  async markerId(): Promise<null> {
    return null;
  }

  close(): void {
    this.#client.destroy();
  }
}

async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof S3ServiceException && ['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(error.name))
      return undefined;
    throw storeError(error);
  }
}

/** Whatever the store answers instead of what it was asked for (no bucket, no right, no network) is one to callers. */
function storeError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : unavailable('storage unavailable', error);
}

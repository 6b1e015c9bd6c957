/** Objects in a bucket of an S3-compatible store. Imported only if SERVICE_STORAGE=s3, since the client is large. */
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
import { ServiceError } from '@acp/kernel';
import { guardedBody, OpenBodies } from './guarded-body.ts';
import { Meter } from './metered.ts';
import { checkFolder, checkKey } from './storage.ts';
import { storeUnavailable } from './store-unavailable.ts';
import type { ByteRange, ListedObject, PutOptions, Storage, StoredObject } from './storage.ts';

interface S3Settings {
  bucket: string;
  region: string;
  endpoint: string | null;
  /** Prefix of every key; empty, or with a trailing `/`. */
  prefix: string;
  /** Null: the platform's default credential chain. */
  access_key_id: string | null;
  secret_access_key: string | null;
  force_path_style: boolean;
  /** Timeout of a request, which is then attempted only once. */
  timeout_ms?: number;
}

// The protocol's minimum; with one part in flight at a time, an upload buffers about two of them.
const PART_BYTES = 5 * 1024 * 1024;
/** The protocol allows 10,000; some are kept in reserve. */
const PARTS = 9000;
const CONNECTION_TIMEOUT_MS = 5000;
// From a request to the first byte of its response; includes sending a part.
const REQUEST_TIMEOUT_MS = 30_000;
// More than the bodies of all owners are likely to need.
const SOCKETS = 256;
/** The form of our keys: folder, owner and id. */
const OWN_KEY = /^[a-z-]+\/[0-9a-f-]{36}\/[0-9a-f-]{36}$/;

/** Part size for an object of about this many bytes: up to 45 GB use the smallest parts. */
export const partBytes = (expected: number): number => Math.max(PART_BYTES, Math.ceil(expected / PARTS));

export class S3Storage implements Storage {
  readonly kind = 's3';
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #bodies = new OpenBodies();

  constructor(settings: S3Settings) {
    const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = settings;
    this.#bucket = settings.bucket;
    this.#prefix = settings.prefix;
    this.#client = new S3Client({
      region: settings.region,
      forcePathStyle: settings.force_path_style,
      ...(settings.endpoint !== null && { endpoint: settings.endpoint }),
      ...(accessKeyId !== null &&
        secretAccessKey !== null && { credentials: { accessKeyId, secretAccessKey } }),
      // Not every compatible store supports the newer checksums; ours is the SHA-256 in the row.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECTION_TIMEOUT_MS,
        requestTimeout: settings.timeout_ms ?? REQUEST_TIMEOUT_MS,
        // Without it a timeout only logs a warning.
        throwOnRequestTimeout: true,
        httpAgent: { keepAlive: true, maxSockets: SOCKETS },
        httpsAgent: { keepAlive: true, maxSockets: SOCKETS },
      },
      maxAttempts: settings.timeout_ms === undefined ? 3 : 1,
    });
  }

  async put(key: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject> {
    checkKey(key);
    const meter = new Meter(options.max_bytes);
    // The client wraps or drops errors of the body, so they are remembered: they determine the response.
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
        Key: this.#prefix + key,
        Body: Readable.from(measured(), { objectMode: false }),
        ContentType: options.content_type,
      },
      partSize: partBytes(options.expected_bytes ?? 0),
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

  async get(key: string, range?: ByteRange, signal?: AbortSignal): Promise<Readable | undefined> {
    checkKey(key);
    const Range = range && `bytes=${range.start}-${range.end}`;
    const closed = this.#bodies.take(ownerOf(key));
    try {
      const command = new GetObjectCommand({ Bucket: this.#bucket, Key: this.#prefix + key, Range });
      const found = await orUndefined(this.#client.send(command, signal ? { abortSignal: signal } : {}));
      if (found?.Body instanceof Readable) return guardedBody(found.Body, { fault: storeError, closed });
      if (found !== undefined) throw storeUnavailable();
    } catch (error) {
      closed();
      throw error;
    }
    closed();
    return undefined;
  }

  async size(key: string): Promise<number | undefined> {
    checkKey(key);
    const found = await orUndefined(
      this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key: this.#prefix + key })),
    );
    return found && (found.ContentLength ?? 0);
  }

  async exists(key: string): Promise<boolean> {
    return (await this.size(key)) !== undefined;
  }

  async delete(key: string): Promise<void> {
    checkKey(key);
    await orUndefined(
      this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: this.#prefix + key })),
    );
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    checkFolder(folder);
    try {
      const input = { Bucket: this.#bucket, Prefix: this.#prefix + folder };
      for await (const page of paginateListObjectsV2({ client: this.#client }, input))
        for (const { Key, Size, LastModified } of page.Contents ?? [])
          if (Key !== undefined)
            yield {
              key: Key.slice(this.#prefix.length),
              size_bytes: Size ?? 0,
              updated_at: LastModified ?? new Date(0),
            };
    } catch (error) {
      throw storeError(error);
    }
  }

  /** At most one page; the next call takes the next one. Stores without this listing apply rules of their own. */
  async removeLeftovers(begunBefore: Date): Promise<void> {
    const listed = await this.#client
      .send(new ListMultipartUploadsCommand({ Bucket: this.#bucket, Prefix: this.#prefix }))
      .catch((error: unknown) => {
        if (error instanceof S3ServiceException) return { Uploads: [] };
        throw storeError(error);
      });
    for (const { Key, UploadId, Initiated } of listed.Uploads ?? []) {
      if (Initiated === undefined || Initiated >= begunBefore || !this.#isOwn(Key)) continue;
      await orUndefined(
        this.#client.send(new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId })),
      );
    }
  }

  /** A store may ignore the prefix, and others may use the bucket: anything that doesn't look like ours is left alone. */
  #isOwn(key = ''): boolean {
    return key.startsWith(this.#prefix) && OWN_KEY.test(key.slice(this.#prefix.length));
  }

  async markerId(): Promise<null> {
    return null;
  }

  close(): void {
    this.#client.destroy();
  }
}

/** The owner: the second part of a key. */
const ownerOf = (key: string): string => key.split('/')[1] ?? key;

async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof S3ServiceException && ['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(error.name))
      return undefined;
    throw storeError(error);
  }
}

/** To callers, any response other than the expected one (no bucket, no permission, no network) means unavailable. */
function storeError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // The cause carries no code, so that a connection reset is not mistaken for the database's.
  const cause = error instanceof Error ? new Error(`${error.name}: ${error.message}`) : undefined;
  return storeUnavailable(cause);
}

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
import { guardedBody, OpenBodies } from './guarded-body.ts';
import { Meter } from './metered.ts';
import { checkFolder, checkKey } from './storage.ts';
import type { ByteRange, ListedObject, PutOptions, Storage, StoredObject } from './storage.ts';

interface S3Settings {
  bucket: string;
  region: string;
  endpoint: string | null;
  /** In front of every key; empty or with its last `/`. */
  prefix: string;
  /** Null: the platform's default chain. */
  access_key_id: string | null;
  secret_access_key: string | null;
  force_path_style: boolean;
  /** Of a request, which is then made once. */
  timeout_ms?: number;
}

// The least that the protocol allows; with one part on its way at a time an upload holds about two of them in memory.
const PART_BYTES = 5 * 1024 * 1024;
/** The protocol allows 10,000: some are left for what was not expected. */
const PARTS = 9000;
const CONNECTION_TIMEOUT_MS = 5000;
// From a request to the first byte of its answer; a part is on its way meanwhile.
const REQUEST_TIMEOUT_MS = 30_000;
// More than all owners' bodies are likely to hold.
const SOCKETS = 256;
/** Of our keys: the folder of a kind, whose it is, and an id. */
const OWN_KEY = /^[a-z-]+\/[0-9a-f-]{36}\/[0-9a-f-]{36}$/;

/** Of an object of about so many bytes: 45 GB go in the smallest parts. */
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
      // Not every compatible store knows the newer checksums; ours is the SHA-256 in the row.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECTION_TIMEOUT_MS,
        requestTimeout: settings.timeout_ms ?? REQUEST_TIMEOUT_MS,
        // Without it a breach is only a warning.
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
      if (found !== undefined) throw unavailable('storage unavailable');
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

  /** One page at most: the next call takes the next. Stores without this listing have their own rules for it. */
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

  /** A store may pass over the prefix, and others may use the bucket: what does not look like ours is let be. */
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

/** Whose a key is: its second part. */
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

/** Whatever the store answers instead of what it was asked for (no bucket, no right, no network) is one to callers. */
function storeError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // A reset of its connections must not be taken for one of the database's: the cause keeps no code.
  const cause = error instanceof Error ? new Error(`${error.name}: ${error.message}`) : undefined;
  return unavailable('storage unavailable', cause);
}

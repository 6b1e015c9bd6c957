/** Objects in a bucket of an S3-compatible store. Imported only if SERVICE_STORAGE=s3, since the client is large. */
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type {
  DeleteObjectsCommandOutput,
  ListMultipartUploadsCommandOutput,
  ListObjectsV2CommandOutput,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { ServiceError } from '@acp/kernel';
import { guardedBody, OpenBodies } from './guarded-body.ts';
import { Meter } from './metered.ts';
import {
  boundedAnswers,
  boundedPages,
  lengthFault,
  objectsOf,
  rejection,
  reporting,
  silenceIsFinal,
  wholePage,
} from './s3-requests.ts';
import { checkFolder, checkKey, deleteEach } from './storage.ts';
import { storeUnavailable } from './store-unavailable.ts';
import type { ByteRange, Deleted, ListedObject, PutOptions, Storage, StoredObject } from './storage.ts';

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
  /** Replaces each of the limits below. */
  timeout_ms?: number;
}

// The protocol's minimum; with one part in flight at a time, an upload buffers about two of them.
const PART_BYTES = 5 * 1024 * 1024;
/** The protocol allows 10,000; some are kept in reserve. */
const PARTS = 9000;
const CONNECTION_TIMEOUT_MS = 5000;
// From a call to the response's headers, retries included: someone is waiting.
const ANSWER_MS = 12_000;
// A large bucket's index takes its time, and only sweeps and backups list.
const LIST_MS = 30_000;
// An upload may take long; a connection on which not one byte moves for this long is given up. The client starts to count
// after three seconds.
const SILENCE_MS = 9000;
// A store assembles thousands of parts before it responds.
const BULK_SILENCE_MS = 60_000;
// A store may send blanks while it assembles, but not for ever: a request of an upload ends after so many silences.
const SILENCES = 10;
// More than the bodies of all owners are likely to need.
const SOCKETS = 256;
/** Deletions in flight where each is a request. */
const LANES = 8;
/** The forms of our keys: folder, owner and id; a backup, which has a name of its own. */
const OWN_KEY = /^(?:[a-z-]+\/[0-9a-f-]{36}\/[0-9a-f-]{36}|backups\/\d{8}T\d{6}Z-[0-9a-f]{8}\.backup)$/;

/** Part size for an object of about this many bytes: up to 45 GB use the smallest parts. */
export const partBytes = (expected: number): number => Math.max(PART_BYTES, Math.ceil(expected / PARTS));

export class S3Storage implements Storage {
  readonly kind = 's3';
  readonly #settings: S3Settings;
  /** By the idle limit of their connections: a body that waits for its reader is idle too, so reading has none. */
  readonly #clients = new Map<number, S3Client>();
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #bodies = new OpenBodies();
  /** The store refused to delete several objects at once. */
  #one_by_one = false;

  constructor(settings: S3Settings) {
    this.#settings = settings;
    this.#bucket = settings.bucket;
    this.#prefix = settings.prefix;
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
    const broken = new AbortController();
    const silence_ms = options.expected_bytes === undefined ? SILENCE_MS : BULK_SILENCE_MS;
    const limit_ms = SILENCES * (this.#settings.timeout_ms ?? silence_ms);
    const upload = new Upload({
      client: reporting(this.#client(silence_ms), broken, limit_ms),
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
      // A part that failed ends the upload at once: its remains are removed in the background, and by `removeLeftovers`.
      await Promise.race([upload.done(), rejection(broken.signal)]);
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
      const found = await this.#answer((client, answered) => client.send(command, answered), { signal });
      if (found?.Body instanceof Readable) {
        const fault = lengthFault(found.ContentLength, range);
        if (fault !== undefined) {
          found.Body.destroy();
          throw storeUnavailable(new Error(fault));
        }
        const silence_ms = this.#settings.timeout_ms;
        return guardedBody(found.Body, { fault: storeError, closed, silence_ms });
      }
      if (found !== undefined) throw storeUnavailable();
    } catch (error) {
      closed();
      throw signal?.aborted ? signal.reason : error;
    }
    closed();
    return undefined;
  }

  async size(key: string): Promise<number | undefined> {
    checkKey(key);
    const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: this.#prefix + key });
    const found = await this.#answer((client, answered) => client.send(command, answered));
    return found && (found.ContentLength ?? 0);
  }

  async exists(key: string): Promise<boolean> {
    return (await this.size(key)) !== undefined;
  }

  async delete(key: string, signal?: AbortSignal): Promise<void> {
    checkKey(key);
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: this.#prefix + key });
    await this.#answer((client, answered) => client.send(command, answered), { signal });
  }

  async deleteAll(keys: readonly string[], signal?: AbortSignal): Promise<Deleted> {
    for (const key of keys) checkKey(key);
    if (keys.length === 0) return { gone: [] };
    return (
      (this.#one_by_one ? undefined : await this.#deleteAtOnce(keys, signal)) ??
      this.#deleteEach(keys, signal)
    );
  }

  /** Undefined: the store does not know the request, or insists on an MD5, which the client no longer sends. */
  async #deleteAtOnce(keys: readonly string[], signal?: AbortSignal): Promise<Deleted | undefined> {
    const Objects = keys.map((key) => ({ Key: this.#prefix + key }));
    const command = new DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Objects, Quiet: true } });
    const send: Send<DeleteObjectsCommandOutput | undefined> = async (client, answered) =>
      client.send(command, answered).catch((error: unknown) => {
        if (error instanceof S3ServiceException && NOT_AT_ONCE.includes(error.$metadata.httpStatusCode ?? 0))
          return undefined;
        throw error;
      });
    try {
      const answer = await this.#answer(send, { signal });
      if (answer === undefined) {
        this.#one_by_one = true;
        return undefined;
      }
      const kept = new Map((answer.Errors ?? []).map(({ Key = '', Code }) => [Key, Code]));
      const gone = keys.filter((key) => GONE.includes(kept.get(this.#prefix + key) ?? 'NotFound'));
      if (gone.length === keys.length) return { gone };
      return { gone, failure: storeError(new Error([...new Set(kept.values())].join(', '))) };
    } catch (failure) {
      return { gone: [], failure };
    }
  }

  /** In bounded time: after it, whatever is left fails at once. */
  async #deleteEach(keys: readonly string[], signal?: AbortSignal): Promise<Deleted> {
    const enough = AbortSignal.timeout(this.#settings.timeout_ms ?? LIST_MS);
    const until = signal ? AbortSignal.any([signal, enough]) : enough;
    return deleteEach(keys, LANES, async (key) => {
      if (until.aborted) throw storeUnavailable();
      await this.delete(key, until);
    });
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    checkFolder(folder);
    const input = { Bucket: this.#bucket, Prefix: this.#prefix + folder };
    const goOn = boundedPages();
    for (let after: string | undefined, more = true; more;) {
      const command = new ListObjectsV2Command({ ...input, ContinuationToken: after });
      const send: Send<ListObjectsV2CommandOutput> = async (client, answered) =>
        client.send(command, answered);
      const page = wholePage(await this.#answer(send, { limit_ms: LIST_MS }));
      yield* objectsOf(page, this.#prefix, folder);
      after = page.NextContinuationToken;
      more = after !== undefined;
      if (more) goOn(after, page.Contents);
    }
  }

  /** Stores without this listing apply rules of their own. */
  async removeLeftovers(begunBefore: Date): Promise<void> {
    const goOn = boundedPages();
    let [KeyMarker, UploadIdMarker]: (string | undefined)[] = [];
    for (let more = true; more;) {
      const input = { Bucket: this.#bucket, Prefix: this.#prefix, KeyMarker, UploadIdMarker };
      const command = new ListMultipartUploadsCommand(input);
      const send: Send<ListMultipartUploadsCommandOutput> = async (client, answered) =>
        client.send(command, answered).catch((error: unknown) => {
          if (error instanceof S3ServiceException) return { Uploads: [], $metadata: {} };
          throw error;
        });
      const listed = await this.#answer(send, { limit_ms: LIST_MS });
      for (const { Key, UploadId, Initiated } of listed?.Uploads ?? []) {
        if (Initiated === undefined || Initiated >= begunBefore || !this.#isOwn(Key)) continue;
        const abort = new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId });
        await this.#answer((client, answered) => client.send(abort, answered));
      }
      [KeyMarker, UploadIdMarker] = [listed?.NextKeyMarker, listed?.NextUploadIdMarker];
      more = listed?.IsTruncated === true;
      if (more) goOn(`${KeyMarker} ${UploadIdMarker}`, listed?.Uploads);
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
    for (const client of this.#clients.values()) client.destroy();
  }

  /**
   * Sends a command, and gives it up, with all its attempts, unless the store responds in time. A body that follows is not limited.
   * @returns undefined if there is no such object
   */
  async #answer<T>(
    send: Send<T>,
    { limit_ms = ANSWER_MS, signal }: { limit_ms?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<T | undefined> {
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new Error('the store did not respond in time')),
      this.#settings.timeout_ms ?? limit_ms,
    ).unref();
    const abortSignal = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    try {
      // Not only aborted but abandoned: the client does not look at the signal while it waits to try again.
      return await Promise.race([send(this.#client(), { abortSignal }), rejection(abortSignal)]);
    } catch (error) {
      if (error instanceof S3ServiceException && GONE.includes(error.name)) return undefined;
      throw storeError(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param silence_ms how long a connection may be idle during a request; 0: unlimited */
  #client(silence_ms = 0): S3Client {
    const known = this.#clients.get(silence_ms);
    if (known) return known;
    const { region, endpoint, force_path_style, access_key_id, secret_access_key, timeout_ms } =
      this.#settings;
    const client = new S3Client({
      region,
      forcePathStyle: force_path_style,
      ...(endpoint !== null && { endpoint }),
      ...(access_key_id !== null &&
        secret_access_key !== null && {
          credentials: { accessKeyId: access_key_id, secretAccessKey: secret_access_key },
        }),
      // Not every compatible store supports the newer checksums; ours is the SHA-256 in the row.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECTION_TIMEOUT_MS,
        socketTimeout: silence_ms && (timeout_ms ?? silence_ms),
        httpAgent: { keepAlive: true, maxSockets: SOCKETS },
        httpsAgent: { keepAlive: true, maxSockets: SOCKETS },
      },
    });
    client.middlewareStack.add(boundedAnswers, { step: 'deserialize', priority: 'low' });
    client.middlewareStack.add(silenceIsFinal, { step: 'finalizeRequest', priority: 'low' });
    this.#clients.set(silence_ms, client);
    return client;
  }
}

/** Statuses of stores that can't delete several objects with our request. */
const NOT_AT_ONCE = [400, 405, 411, 501];

/** Errors that mean that there is no such object. */
const GONE = ['NoSuchKey', 'NotFound', 'NoSuchUpload'];

type Send<T> = (client: S3Client, answered: { abortSignal: AbortSignal }) => Promise<T>;

/** The owner: the second part of a key. */
const ownerOf = (key: string): string => key.split('/')[1] ?? key;

/** To callers, any response other than the expected one (no bucket, no permission, no network) means unavailable. */
function storeError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  // The cause carries no code, so that a connection reset is not mistaken for the database's.
  const cause = error instanceof Error ? new Error(`${error.name}: ${error.message}`) : undefined;
  return storeUnavailable(cause);
}

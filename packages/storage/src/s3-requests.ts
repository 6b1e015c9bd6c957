/** When requests to a bucket end that would otherwise be repeated, waited for or read without end. */
import { Readable } from 'node:stream';
import type { ListObjectsV2CommandOutput, S3Client } from '@aws-sdk/client-s3';
import { sha256Hex } from '@acp/kernel';
import { type ByteRange, isKey, type ListedObject } from './storage.ts';
import { storeUnavailable } from './store-unavailable.ts';

/** The client would try again, and the caller would wait as long once more. Other failures are quick, and repeated. */
export const silenceIsFinal =
  <In, Out>(next: (request: In) => Promise<Out>) =>
  async (request: In): Promise<Out> =>
    next(request).catch((error: unknown) => {
      // Without its cause, in which the client would find the timeout.
      throw error instanceof Error && error.name === 'TimeoutError' ? new Error(error.message) : error;
    });

/** Whatever is read into memory is XML: a thousand of the longest keys. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Uploads that are slower are given up. */
const LEAST_BYTES_PER_MS = 10;

/** Limits every answer that is not an object. */
export const boundedAnswers =
  <In, Out>(next: (request: In) => Promise<Out & { response: unknown }>, context: { commandName?: string }) =>
  async (request: In): Promise<Out & { response: unknown }> => {
    const result = await next(request);
    const response = result.response as { statusCode: number; body?: unknown };
    const isObject = context.commandName === 'GetObjectCommand' && response.statusCode < 300;
    if (response.body instanceof Readable && !isObject)
      response.body = Readable.from(boundedChunks(response.body), { objectMode: false });
    return result;
  };

async function* boundedChunks(body: Readable): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > MOST_BYTES) throw new Error('the answer of the store is too large');
    yield chunk;
  }
}

// A hundred million objects. Pages without an object are few and far between.
const PAGES = 100_000;
const EMPTY_PAGES = 100;

/**
 * Called for each page of a list that another one follows. Throws if the list goes on where it was before, or longer than any.
 * @param token where it goes on
 * @param items of the page
 */
export function boundedPages(): (token: string | undefined, items: unknown) => void {
  const known = new Set<string>();
  let empty = 0;
  return (token, items) => {
    const hash = sha256Hex(token ?? '');
    empty = items ? 0 : empty + 1;
    if (known.has(hash) || known.size >= PAGES || empty >= EMPTY_PAGES)
      throw storeUnavailable(new Error('the list of the store has no end'));
    known.add(hash);
  };
}

/**
 * A page of a list that says where the next one is, or that there is none. Anything else, such as the page of a proxy, would pass for a
 * list of fewer objects, and a backup would lack the others. @throws unavailable
 */
export function wholePage(page: ListObjectsV2CommandOutput | undefined): ListObjectsV2CommandOutput {
  if (page?.IsTruncated === undefined)
    throw storeUnavailable(new Error('the store does not list its objects'));
  if (page.IsTruncated && page.NextContinuationToken === undefined)
    throw storeUnavailable(new Error('the store does not say where its list goes on'));
  return page;
}

/** The page's objects below the folder. A store may ignore the prefix, and others may put objects of any name into the bucket. */
export function* objectsOf(
  { Contents = [] }: ListObjectsV2CommandOutput,
  prefix: string,
  folder: string,
): Generator<ListedObject> {
  for (const { Key = '', Size = 0, LastModified: updated_at = new Date(0) } of Contents) {
    const key = Key.slice(prefix.length);
    if (Key.startsWith(prefix + folder) && isKey(key)) yield { key, size_bytes: Size, updated_at };
  }
}

/**
 * The same client, which also aborts `broken` with the first command that fails. @param limit_ms of a command, besides the time for
 * its bytes
 */
export function reporting(client: S3Client, broken: AbortController, limit_ms: number): S3Client {
  const send = async (command: Parameters<S3Client['send']>[0]) => {
    const { Body } = command.input as { Body?: unknown };
    const bytes = Body instanceof Uint8Array ? Body.length : 0;
    const abortSignal = AbortSignal.timeout(Math.ceil(limit_ms + bytes / LEAST_BYTES_PER_MS));
    return Promise.race([client.send(command, { abortSignal }), rejection(abortSignal)]).catch(
      (error: unknown) => {
        broken.abort(error);
        throw error;
      },
    );
  };
  return Object.create(client, { send: { value: send } }) as S3Client;
}

/** What is wrong with an answer’s length. Without one it would be read for as long as the store sends; another one is of other bytes. */
export function lengthFault(length: number | undefined, range: ByteRange | undefined): string | undefined {
  if (length === undefined) return 'the store does not say how long the object is';
  if (range && length !== range.end - range.start + 1)
    return 'the store ignores the range that was asked for';
  return undefined;
}

/** Rejects when the signal is aborted, with its reason; never resolves. */
export const rejection = async (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const fail = () => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });

/** Answers with stored bytes: streamed, never sniffed, never executed. */
import type { Actor } from '@acp/contract';
import { notFound, unavailable } from '@acp/kernel';
import type { ByteRange } from '@acp/storage';
import type { Request, Response } from 'express';
import { once } from 'node:events';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { sendJson } from './answer.ts';
import { byteRange } from './byte-range.ts';
import { isHeld } from './entity-tag.ts';
import type { Services } from './services.ts';

/** A reader who receives nothing for this long has left; its connections are needed. */
export const IDLE_MS = 60_000;

interface SentFile {
  readonly storage_key: string;
  readonly content_type: string;
  readonly size_bytes: number;
  /** Offered as a download under this name; shown inline if absent. */
  readonly filename?: string;
  /** Strong: the same tag means the same bytes. If given, ranges are supported. */
  readonly etag?: string;
}

/** The reader, and the response to write to. */
export interface Reader {
  readonly services: Pick<Services, 'storage' | 'downloads'>;
  readonly request: Request;
  readonly response: Response;
  readonly actor: Actor;
}

/**
 * Uploads are served from our own origin: a browser must neither guess another type nor execute them, not even when they
 * are opened in a tab of their own. Throws `notFound` if the bytes are missing, `unavailable` if the caller is already
 * reading too many.
 */
export async function sendFile(
  { services: { storage, downloads }, request, response, actor }: Reader,
  file: SentFile,
  idle_ms = IDLE_MS,
): Promise<void> {
  if (file.etag !== undefined && isHeld(request, `"${file.etag}"`)) {
    response.setHeader('ETag', `"${file.etag}"`);
    response.statusCode = 304;
    response.end();
    return;
  }
  const isHead = request.method === 'HEAD';
  // Of a HEAD request it must be ignored (RFC 9110, 14.2).
  const hasParts = file.etag !== undefined && !isHead;
  const range = hasParts ? rangeOf(request, file.size_bytes, `"${file.etag}"`) : undefined;
  if (range === 'unsatisfiable') {
    response.setHeader('Content-Range', `bytes */${file.size_bytes}`);
    sendJson(response, 416, '{"error":"range not satisfiable"}');
    return;
  }
  // Before the first byte: a wrong length would cut the connection midway.
  const size = await storage.size(file.storage_key);
  // The reader left meanwhile: nothing would end what is opened for them now.
  if (response.destroyed) return;
  if (size === undefined) throw notFound();
  if (size !== file.size_bytes) throw damaged();
  const body = isHead ? undefined : await open(range);
  setHeaders(response, file);
  if (range) response.setHeader('Content-Range', `bytes ${range.start}-${range.end}/${file.size_bytes}`);
  const length = range ? range.end - range.start + 1 : file.size_bytes;
  response.setHeader('Content-Length', length);
  response.statusCode = range ? 206 : 200;
  if (body === undefined) response.end();
  else
    await pipeline(
      body,
      exactly(length),
      response.setTimeout(idle_ms, () => response.destroy()),
    );

  async function open(part?: ByteRange): Promise<Readable> {
    const reader = readerOf(actor);
    const closed = reader === undefined ? undefined : downloads.take(reader);
    const gone = new AbortController();
    response.once('close', () => {
      gone.abort();
      closed?.();
    });
    const found = await storage.get(file.storage_key, part, gone.signal);
    if (found === undefined) throw notFound();
    try {
      // A store that falls silent after its headers can be reported only until ours are sent.
      await once(found, 'readable', { signal: gone.signal });
    } catch (error) {
      found.destroy();
      throw error;
    }
    return found;
  }
}

const damaged = () => unavailable('the stored file is damaged');

/** What a store sends beyond the length that was announced would be read as the next response of the connection. */
function exactly(length: number): Transform {
  let left = length;
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      left -= chunk.length;
      if (left < 0) done(damaged());
      else done(null, chunk);
    },
    flush(done) {
      done(left > 0 ? damaged() : null);
    },
  });
}

/** Public files are limited per owner only: their readers share addresses. */
function readerOf(actor: Actor): string | undefined {
  if (actor.kind === 'user') return actor.user_id;
  if (actor.kind === 'board_user') return actor.key_id;
  if (actor.kind === 'agent') return actor.agent_id;
  return undefined;
}

function setHeaders(response: Response, file: SentFile): void {
  // Also sets a content type of its own choice, which the next line replaces.
  if (file.filename !== undefined) response.attachment(file.filename);
  response.setHeader('Content-Type', file.content_type);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Content-Security-Policy', "sandbox; default-src 'none'");
  if (file.etag === undefined) return;
  response.setHeader('ETag', `"${file.etag}"`);
  response.setHeader('Accept-Ranges', 'bytes');
}

function rangeOf(request: Request, size: number, etag: string): ByteRange | 'unsatisfiable' | undefined {
  const condition = request.get('if-range');
  if (condition !== undefined && condition !== etag) return undefined;
  return byteRange(request.get('range'), size);
}

import type { Actor, EndpointRow } from '@acp/contract';
import { rateLimited } from '@acp/kernel';
import type { Request } from 'express';
import { isMultipart } from './multipart.ts';
import { ownerOf } from './owner.ts';
import type { Services } from './services.ts';

const RETRY_SEC = 5;
/** Smaller bodies need no place. */
export const LARGE_BODY = 1024 * 1024;

/**
 * Room in memory for bodies that are read as a whole: a client may send one of 25 MB as slowly as it likes, in as many requests at once
 * as it likes.
 */
export class MemoryPlaces {
  readonly #all: number;
  readonly #ofOne: number;
  readonly #held = new Map<string, number>();
  #sum = 0;

  /** In bytes, in total and per owner; a single body may be larger. */
  constructor({ all, ofOne }: { all: number; ofOne: number }) {
    this.#all = all;
    this.#ofOne = ofOne;
  }

  /** @returns gives the room back @throws rate_limited while others take it */
  take(owner: string, bytes: number): () => void {
    const own = this.#held.get(owner) ?? 0;
    if (own > 0 && own + bytes > this.#ofOne) throw rateLimited('too many large uploads at once', RETRY_SEC);
    if (this.#sum > 0 && this.#sum + bytes > this.#all)
      throw rateLimited('too many large uploads at once', RETRY_SEC);
    this.#add(owner, bytes);
    let left = false;
    return () => {
      if (!left) this.#add(owner, -bytes);
      left = true;
    };
  }

  #add(owner: string, bytes: number): void {
    const own = (this.#held.get(owner) ?? 0) + bytes;
    if (own > 0) this.#held.set(owner, own);
    else this.#held.delete(owner);
    this.#sum += bytes;
  }
}

/** Of this process: reading a bundle takes ten times its size. */
const places = new MemoryPlaces({ all: 200_000_000, ofOne: 50_000_000 });

interface Receiving {
  row: EndpointRow;
  request: Request;
  services: Services;
  /** Empty for a request about no company. */
  company_id: string;
  actor: Actor;
}

/** Takes room for a body that is read as a whole, until the result is called. @throws rate_limited */
export function roomForBody(receiving: Receiving): () => void {
  const bytes = bytesInMemory(receiving);
  if (bytes <= LARGE_BODY) return () => undefined;
  return places.take(ownerOf(receiving) ?? '', bytes);
}

function bytesInMemory({ row: { files, body_kind, max_bytes = 0 }, request, services }: Receiving): number {
  const limit = typeof files?.limit === 'number' ? files.limit : services.upload_limits.upload_bytes;
  const inMemory = files?.into === 'memory' && isMultipart(request);
  const most = inMemory ? limit : body_kind === 'raw' ? max_bytes : 0;
  const declared = request.headers['content-length'];
  return declared === undefined ? most : Math.min(most, Number(declared));
}

import { createValidator } from '@acp/contract';
import {
  type Config,
  connectionFailure,
  createGuardedFetch,
  EgressError,
  exchange,
  ExchangeFailure,
  type HostList,
} from '@acp/kernel';
import type { Static, TSchema } from 'typebox';
import { ChannelFailure } from './channel-link.ts';

export type ChannelConfig = Pick<
  Config,
  'telegram_api_url' | 'slack_api_url' | 'attachment_max_upload_bytes'
>;

const MOST = 4 * 1024 * 1024;
const TIME_MS = 20_000;
const FILE_MS = 60_000;

export interface VendorAnswer {
  status: number;
  headers: Headers;
  /** Storable, without our tokens; undefined if it is not JSON. */
  body: unknown;
}

/**
 * One vendor's API. The operator sets its address: the vendor's own on the public internet, or another one anywhere.
 * A token is sent to that host only, and no redirect is followed.
 */
export class VendorApi {
  readonly base: URL;
  /** The vendor's own address rather than a server of the operator's. */
  readonly isUsual: boolean;
  readonly #fetch: typeof fetch;
  readonly #secrets: readonly string[];

  /** @param secrets whatever is sent along, in URLs too: no answer has them */
  constructor(base_url: string, usual_url: string, list: HostList | null, secrets: readonly string[]) {
    this.#secrets = secrets;
    this.base = new URL(base_url.replace(/\/+$/, ''));
    const { host, hostname } = this.base;
    this.isUsual = host === new URL(usual_url).host;
    this.#fetch = createGuardedFetch({
      egress: 'public',
      allow_hosts: this.isUsual ? [] : [hostname],
      only_hosts: [hostname],
    }).within(list);
  }

  at(path: string): string {
    return `${this.base.href.replace(/\/+$/, '')}${path}`;
  }

  /** @param body sent as JSON */
  async post(
    path: string,
    body: Record<string, unknown>,
    {
      headers = {},
      signal,
      time_ms = TIME_MS,
    }: { headers?: Record<string, string>; signal: AbortSignal; time_ms?: number },
  ): Promise<VendorAnswer> {
    const request = {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
      body: JSON.stringify(body),
    };
    const limits = { signal, time_ms, most_bytes: MOST, secrets: this.#secrets };
    try {
      const answer = await exchange(this.#fetch, this.at(path), request, limits);
      return { status: answer.status, headers: answer.headers, body: ifJson(() => answer.json()) };
    } catch (error) {
      if (!(error instanceof ExchangeFailure)) throw error;
      // Only the company can fix what its own host list forbids.
      throw new ChannelFailure(error.message, { refused: error.kind === 'refused' });
    }
  }

  /** The bytes of a file. @param send for files on other hosts than the API */
  async fetchFile(
    url: string | URL,
    { headers = {}, signal }: { headers?: Record<string, string>; signal: AbortSignal },
    send: typeof fetch = this.#fetch,
  ): Promise<AsyncIterable<Uint8Array>> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(FILE_MS)]);
    try {
      const answer = await send(url, { headers, redirect: 'manual', signal: limit });
      if (!answer.ok || answer.body === null)
        throw new ChannelFailure(`the file can’t be fetched: ${answer.status}`, {
          hopeless: answer.status < 500,
        });
      return answer.body as AsyncIterable<Uint8Array>;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ChannelFailure) throw error;
      // An address may contain the token, so the driver's own message is discarded.
      const why = limit.aborted ? `no answer in ${FILE_MS / 1000} s` : connectionFailure(error);
      throw new ChannelFailure(why, { refused: error instanceof EgressError });
    }
  }
}

/** Undefined for what is no JSON that we read. */
export function ifJson(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** @throws ChannelFailure if the vendor violates its protocol */
export function shaped<S extends TSchema>(schema: S, value: unknown): Static<S> {
  try {
    return createValidator(schema, 'answer')(value);
  } catch {
    throw new ChannelFailure('its answer can’t be read');
  }
}

/** Undefined for any other shape: it is nothing that we process. */
export function ifShaped<T>(validate: (value: unknown) => T, value: unknown): T | undefined {
  try {
    return validate(value);
  } catch {
    return undefined;
  }
}

import { createValidator } from '@acp/contract';
import { type Config, connectionFailure, createGuardedFetch, EgressError, type HostList } from '@acp/kernel';
import type { Static, TSchema } from 'typebox';
import { ChannelFailure } from './channel-link.ts';

export type ChannelConfig = Pick<
  Config,
  'telegram_api_url' | 'slack_api_url' | 'attachment_max_upload_bytes'
>;

const MOST = 4 * 1024 * 1024;
const TIME_MS = 20_000;

export interface VendorAnswer {
  status: number;
  headers: Headers;
  body: unknown;
}

/**
 * One vendor's API. Its address is the operator's: the vendor's own, on the public internet, or another that may be
 * anywhere. A token goes to that host and to no other, and no redirect is followed.
 */
export class VendorApi {
  readonly base: URL;
  readonly #fetch: typeof fetch;

  constructor(base_url: string, usual_url: string, list: HostList | null) {
    this.base = new URL(base_url.replace(/\/+$/, ''));
    const { host, hostname } = this.base;
    const isUsual = host === new URL(usual_url).host;
    this.#fetch = createGuardedFetch({
      egress: 'public',
      allow_hosts: isUsual ? [] : [hostname],
      only_hosts: [hostname],
    }).within(list);
  }

  /** @param body as JSON */
  async post(
    path: string,
    body: Record<string, unknown>,
    {
      headers = {},
      signal,
      time_ms = TIME_MS,
    }: { headers?: Record<string, string>; signal: AbortSignal; time_ms?: number },
  ): Promise<VendorAnswer> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(time_ms)]);
    return unlessAborted(signal, limit, time_ms, async () => {
      const answer = await this.#fetch(`${this.base.href.replace(/\/+$/, '')}${path}`, {
        method: 'POST',
        redirect: 'manual',
        signal: limit,
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'user-agent': 'agent-control-plane',
          ...headers,
        },
        body: JSON.stringify(body),
      });
      return { status: answer.status, headers: answer.headers, body: parsed(await boundedText(answer)) };
    });
  }
}

/** Words for people: an address may hold the token, so nothing of what a driver says is kept. */
export async function unlessAborted<T>(
  signal: AbortSignal,
  limit: AbortSignal,
  time_ms: number,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ChannelFailure) throw error;
    const why = limit.aborted ? `no answer within ${time_ms / 1000} s` : connectionFailure(error);
    // What a company's own list of hosts forbids is the company's to mend.
    throw new ChannelFailure(why, { refused: error instanceof EgressError });
  }
}

async function boundedText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += (chunk as Uint8Array).length;
    if (size > MOST) throw new ChannelFailure('its answer is too long');
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** @throws ChannelFailure where the vendor does not speak as it should */
export function shaped<S extends TSchema>(schema: S, value: unknown): Static<S> {
  try {
    return createValidator(schema, 'answer')(value);
  } catch {
    throw new ChannelFailure('its answer can’t be read');
  }
}

/** Undefined for what has another shape: it is none that anybody here waits for. */
export function ifShaped<T>(validate: (value: unknown) => T, value: unknown): T | undefined {
  try {
    return validate(value);
  } catch {
    return undefined;
  }
}

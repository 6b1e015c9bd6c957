import { createGuardedFetch, exchange } from '@acp/kernel';
import type { CustomFetch } from 'openid-client';
import { PROVIDER_TIMEOUT_SEC } from './provider.ts';

/** Far above any provider's document, keys or tokens. */
const MOST_BYTES = 1024 * 1024;

/** The provider's own documents name further addresses: whatever they are, it is not the cloud's metadata. */
const send = createGuardedFetch({ egress: 'any' });

/** What the client library is given to ask a provider with. Whatever a provider repeats of the client's secret is in no answer. */
export function providerFetch(client_secret: string): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const limits = {
      signal: signal ?? new AbortController().signal,
      time_ms: PROVIDER_TIMEOUT_SEC * 1000,
      most_bytes: MOST_BYTES,
      secrets: [client_secret],
    };
    const content = body != null && { body: await new Response(body).text() };
    const answer = await exchange(send, url, { method, headers, ...content }, limits);
    const isJson = /\bjson\b/i.test(answer.headers.get('content-type') ?? '');
    const text = isJson ? JSON.stringify(answer.json()) : answer.text;
    return new Response(text === '' ? null : text, { status: answer.status, headers: answer.headers });
  };
}

import type { Attempt, PendingDelivery } from '@acp/core';
import { connectionFailure, discardBody, hmacSha256Hex } from '@acp/kernel';

interface Envelope extends PendingDelivery {
  url: string;
  /** Null: the receiver has no secret to verify a signature with. */
  secret: string | null;
  headers: Readonly<Record<string, string>>;
}

/** Maximum length of a receiver's error message, in characters. */
const MAX_ERROR = 500;

/**
 * Sends one delivery, signed like inbound `hmac_ts` webhooks (specification, Webhook ingress 4). Anything but a 2xx is a
 * failure; redirects are not followed, since no one has allowed their targets.
 * @param signal aborts when the process stops: throws then, since the outcome is unknown
 */
export async function sendWebhook(
  send: typeof fetch,
  { url, secret, id, event_type, body, headers }: Envelope,
  timeout_sec: number,
  signal: AbortSignal,
): Promise<Attempt> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const tooLong = AbortSignal.timeout(timeout_sec * 1000);
  try {
    const response = await send(url, {
      method: 'POST',
      redirect: 'manual',
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'agent-control-plane',
        'x-service-event': event_type,
        'x-service-delivery': id,
        'x-service-timestamp': timestamp,
        ...(secret !== null && { 'x-service-signature': hmacSha256Hex(secret, `${timestamp}.${body}`) }),
        ...headers,
      },
      signal: AbortSignal.any([signal, tooLong]),
    });
    await discardBody(response);
    const { status } = response;
    return { response_status: status, error: response.ok ? null : `it answered ${status}` };
  } catch (error) {
    if (signal.aborted) throw error;
    const reason = tooLong.aborted ? `no answer in ${timeout_sec} s` : connectionFailure(error);
    return { response_status: null, error: reason.slice(0, MAX_ERROR) };
  }
}

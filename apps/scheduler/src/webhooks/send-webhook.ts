import type { Attempt, PendingDelivery } from '@acp/core';
import { connectionFailure, hmacSha256Hex } from '@acp/kernel';

interface Envelope extends PendingDelivery {
  url: string;
  /** Null: the receiver has none to verify a signature with. */
  secret: string | null;
  headers: Readonly<Record<string, string>>;
}

/** In characters: what a receiver's failure may say of itself. */
const MAX_ERROR = 500;

/**
 * Sends one delivery, signed as inbound `hmac_ts` webhooks are (specification, Webhook ingress 4). Anything but a 2xx is
 * a failure; redirects are not followed, for where they lead nobody has allowed.
 * @param signal aborts where the process stops: throws then, for nothing is known of the outcome
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
    // What it says is not read: it could go on forever.
    await response.body?.cancel();
    const { status } = response;
    return { response_status: status, error: response.ok ? null : `it answered ${status}` };
  } catch (error) {
    if (signal.aborted) throw error;
    const reason = tooLong.aborted ? `no answer in ${timeout_sec} s` : connectionFailure(error);
    return { response_status: null, error: reason.slice(0, MAX_ERROR) };
  }
}

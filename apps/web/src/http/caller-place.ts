import type { SignInPlace } from '@acp/core';
import { clientAddress, type TrustedProxies } from '@acp/kernel';
import type { IncomingMessage } from 'node:http';

/** From where a request came: its address, by trusted proxies the forwarded one, and what it calls itself. */
export function callerPlace({ socket, headers }: IncomingMessage, trusted: TrustedProxies): SignInPlace {
  const forwarded = headers['x-forwarded-for'];
  const header = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
  return {
    address: clientAddress(socket.remoteAddress, header, trusted),
    user_agent: headers['user-agent'] ?? null,
  };
}

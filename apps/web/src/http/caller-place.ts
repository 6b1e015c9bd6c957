import type { SignInPlace } from '@acp/core';
import { clientAddress, type TrustedProxies } from '@acp/kernel';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** A request's origin: its address (as forwarded, behind trusted proxies) and its user agent. */
export function callerPlace({ socket, headers }: IncomingMessage, trusted: TrustedProxies): SignInPlace {
  const forwarded = headers['x-forwarded-for'];
  const header = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
  const address =
    header === undefined ? peerOf(socket, trusted) : clientAddress(socket.remoteAddress, header, trusted);
  return { address, user_agent: headers['user-agent'] ?? null };
}

// A socket's peer never changes, and every request needs it.
const peers = new WeakMap<Socket, string>();

function peerOf(socket: Socket, trusted: TrustedProxies): string {
  let peer = peers.get(socket);
  if (peer === undefined) {
    peer = clientAddress(socket.remoteAddress, undefined, trusted);
    peers.set(socket, peer);
  }
  return peer;
}

/** An outgoing WebSocket under the same rules as `createGuardedFetch`. */
import { subscribe } from 'node:diagnostics_channel';
import type { Agent } from 'undici';
import { type GuardedFetchOptions, guardedConnector, undici } from './guarded-fetch.ts';

interface SocketEvents {
  /** A text message arrived. */
  message(text: string): void;
  /** The other side sent a ping. */
  ping(): void;
  closed(): void;
  /** It could not be opened, or the connection broke. */
  failed(): void;
}

interface OpenSocket {
  /** Dropped if the socket is no longer open. */
  send(text: string): void;
  close(): void;
}

export type GuardedWebSocket = (url: string, events: SocketEvents) => OpenSocket;

/** Maximum size of one message. */
const MOST_BYTES = 2 * 1024 * 1024;

// undici answers pings itself and reports them only on a process-wide diagnostics channel.
const pinged = new WeakMap<object, () => void>();
let listening = false;
function listenForPings(): void {
  if (listening) return;
  listening = true;
  subscribe('undici:websocket:ping', (message) => {
    const { websocket } = message as { websocket?: object };
    if (websocket !== undefined) pinged.get(websocket)?.();
  });
}

export function createGuardedWebSocket(options: GuardedFetchOptions): GuardedWebSocket {
  let dispatcher: Agent | undefined;
  return (url, events) => {
    const { Agent: AgentOf, WebSocket } = undici();
    dispatcher ??= new AgentOf({
      connect: guardedConnector(options),
      webSocket: { maxPayloadSize: MOST_BYTES },
    });
    listenForPings();
    const socket = new WebSocket(url, { dispatcher });
    let over = false;
    const end = (how: 'closed' | 'failed') => () => {
      if (over) return;
      over = true;
      events[how]();
    };
    // Registered before the first ping can arrive.
    pinged.set(socket, () => events.ping());
    socket.addEventListener('message', ({ data }) => {
      if (typeof data === 'string' && !over) events.message(data);
    });
    socket.addEventListener('close', end('closed'));
    socket.addEventListener('error', end('failed'));
    return {
      send(text) {
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
      },
      close() {
        over = true;
        socket.close();
      },
    };
  };
}

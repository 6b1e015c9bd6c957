/** A WebSocket that is opened from here, held to the same rules as `createGuardedFetch`. */
import { subscribe } from 'node:diagnostics_channel';
import { Agent, WebSocket } from 'undici';
import { type GuardedFetchOptions, guardedConnector } from './guarded-fetch.ts';

export interface SocketEvents {
  /** A text came. */
  message(text: string): void;
  /** The other side says that it is there. */
  ping(): void;
  closed(): void;
  /** It could not be opened, or broke. */
  failed(): void;
}

export interface OpenSocket {
  /** Dropped where the socket is not open any more. */
  send(text: string): void;
  close(): void;
}

export type GuardedWebSocket = (url: string, events: SocketEvents) => OpenSocket;

/** Of one message. */
const MOST_BYTES = 2 * 1024 * 1024;

// Pings are answered by undici itself, which tells of them on a channel of the process alone.
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
  const dispatcher = new Agent({
    connect: guardedConnector(options),
    webSocket: { maxPayloadSize: MOST_BYTES },
  });
  listenForPings();
  return (url, events) => {
    const socket = new WebSocket(url, { dispatcher });
    let over = false;
    const end = (how: 'closed' | 'failed') => () => {
      if (over) return;
      over = true;
      events[how]();
    };
    // Before anything else can be said of it.
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

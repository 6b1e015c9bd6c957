import type { Client } from 'pg';
import type { Logger } from '@acp/kernel';
import { openLink } from './link.ts';
import { signalChannels, WILDCARD } from './signal-channels.ts';
import type { SignalChannel } from './signal-channels.ts';

interface ListenerOptions {
  /** The direct address: LISTEN does not work through a transaction-mode pooler. */
  url: string;
  logger?: Logger | undefined;
  application_name?: string;
}

type Handler = (items: string[]) => void;

/** The process's only LISTEN connection. */
export interface Listener {
  /**
   * `items` are what notifiers pushed: sequence ranges `<from>-<to>` for 'events', the signalled items otherwise, and '*'
   * when there were too many, which means: read everything again. Handlers must not throw. Returns the unsubscribe function.
   */
  on(channel: SignalChannel, handler: Handler): () => void;
  /** Notifications sent while the connection was down are lost; readers catch up here. */
  onReconnect(handler: () => void): () => void;
  /** Resolves once every subscription made so far is listening. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

const PREFIX = 'service_';

export function createListener(options: ListenerOptions): Listener {
  const handlers = new Map<SignalChannel, Set<Handler>>();
  const reconnectHandlers = new Set<() => void>();

  function guarded(call: () => void, about: string): void {
    try {
      call();
    } catch (err) {
      options.logger?.error(`a handler of ${about} failed`, { error: err });
    }
  }

  // State of the current connection: the channels it listens to or was asked to, and a promise for when that is done.
  let listening = new Set<SignalChannel>();
  let listened: Promise<unknown> = Promise.resolve();

  async function listenToAll(client: Client): Promise<void> {
    const missing = [...handlers.keys()].filter((channel) => !listening.has(channel));
    for (const channel of missing) listening.add(channel);
    const statements = missing.map((channel) => `listen ${PREFIX}${channel}`);
    if (statements.length > 0) await client.query(statements.join(';'));
  }

  /** Applies to the live connection; if it breaks now, the next one listens to everything in `handlers`. */
  function catchUp(): void {
    const client = link.current();
    if (client === null) return;
    // One statement at a time: a connection has no queue of its own.
    listened = listened
      .then(async () => (link.current() === client ? listenToAll(client) : undefined))
      .catch(() => undefined);
  }

  const link = openLink({
    url: options.url,
    application_name: options.application_name ?? 'listener',
    logger: options.logger,
    prepare: async (client) => {
      listening = new Set();
      listened = listenToAll(client);
      await listened;
    },
    onUp: (again) => {
      // Channels subscribed to while the connection was being prepared.
      catchUp();
      if (again) for (const handler of reconnectHandlers) guarded(handler, 'the reconnection');
    },
    onNotification: (name, payload) => {
      const channel = signalChannels.find((known) => PREFIX + known === name);
      if (channel === undefined) return;
      const items = parseItems(payload);
      for (const handler of handlers.get(channel) ?? []) guarded(() => handler(items), `channel ${channel}`);
    },
  });

  return {
    on(channel, handler) {
      const set = handlers.get(channel) ?? new Set<Handler>();
      set.add(handler);
      handlers.set(channel, set);
      catchUp();
      return () => set.delete(handler);
    },
    onReconnect(handler) {
      reconnectHandlers.add(handler);
      return () => reconnectHandlers.delete(handler);
    },
    async ready() {
      await link.client();
      await listened;
    },
    close: async () => link.close(),
  };
}

function parseItems(payload: string): string[] {
  try {
    const parsed: unknown = JSON.parse(payload);
    if (Array.isArray(parsed) && parsed.every((item) => typeof item === 'string')) return parsed;
  } catch {
    // sent by something that does not speak our format; falls through
  }
  return [WILDCARD];
}

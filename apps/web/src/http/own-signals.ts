import type { Notifier, SignalChannel } from '@acp/db';

/**
 * Wraps a notifier so that this process acts on its own signals when their transaction has committed, and so before the change
 * is answered: by the database they come back only later.
 */
export function hearOwn(
  notifier: Notifier,
  channel: SignalChannel,
  hear: (items: readonly string[]) => void,
): Notifier {
  return {
    push(pushed, items) {
      if (pushed === channel) hear(items);
      notifier.push(pushed, items);
    },
    sequenceNow: async () => notifier.sequenceNow(),
    close: async () => notifier.close(),
  };
}

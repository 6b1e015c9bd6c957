const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Someone has ended the command: what it has started must end before it does. */
export class Interrupted extends Error {
  readonly by: NodeJS.Signals;

  constructor(by: NodeJS.Signals) {
    super(`ended by ${by}`);
    this.by = by;
  }
}

/** Aborts with `Interrupted` at the first signal. The second ends the process. */
export function listenForInterruption(): { signal: AbortSignal; stop: () => void } {
  const over = new AbortController();
  const stop = () => {
    for (const name of signals) process.off(name, heard);
  };
  const heard = (name: NodeJS.Signals) => {
    stop();
    over.abort(new Interrupted(name));
  };
  for (const name of signals) process.on(name, heard);
  return { signal: over.signal, stop };
}

/** Rejects with the signal's reason as soon as it aborts, whatever becomes of the work. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const reject = () => aborted.reject(signal.reason as Error);
  signal.addEventListener('abort', reject, { once: true });
  if (signal.aborted) reject();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', reject);
  }
}

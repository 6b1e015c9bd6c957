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

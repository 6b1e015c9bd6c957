/**
 * Waits for `work`, at most `ms`, and no longer than until `signal` aborts. Listens itself: a `fetch` or a reader that was given
 * the signal may not hear of it, because Node.js 20 lets go of derived signals when memory is collected.
 */
export async function within<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T> {
  let end = (): void => undefined;
  const cut = new Promise<never>((_, reject) => {
    const stop = () => reject(new Error('aborted'));
    const timer = setTimeout(() => reject(new Error(`nothing came for ${ms} ms`)), ms);
    signal.addEventListener('abort', stop, { once: true });
    end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    };
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([work, cut]);
  } finally {
    end();
  }
}

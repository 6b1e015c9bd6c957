/** Waits for work until the signal aborts, and then rejects with its reason. The work goes on, and how it ends concerns nobody. */
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

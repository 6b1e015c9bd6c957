type Answers<T extends readonly unknown[]> = { -readonly [K in keyof T]: Awaited<T[K]> };

/**
 * Statements of one transaction that don't depend on each other's results: they are sent back to back, which shortens the
 * time the transaction holds its locks. Settles once all have settled, so nothing is sent after a rollback, and throws the
 * first error, since in a failed transaction the rest fail as a consequence.
 */
export async function together<T extends readonly unknown[]>(...work: T): Promise<Answers<T>> {
  const answers = Promise.all(work);
  const settled = Promise.allSettled(work);
  try {
    return await answers;
  } finally {
    await settled;
  }
}

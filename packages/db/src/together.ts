type Answers<T extends readonly unknown[]> = { -readonly [K in keyof T]: Awaited<T[K]> };

/**
 * Statements of one transaction that need not wait for each other's answers: they go out one behind the other, which
 * shortens the time for which the transaction holds its locks. Settles when all of them have, so that nothing is sent
 * after a rollback; throws what failed first, for in a failed transaction the rest fails by consequence.
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

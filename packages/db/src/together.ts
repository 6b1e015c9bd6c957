type Answers<T extends readonly unknown[]> = { -readonly [K in keyof T]: Awaited<T[K]> };

/**
 * Statements of one transaction that don't depend on each other's results: they are sent as one message and answered together,
 * which shortens the time the transaction holds its locks. Settles once all have settled, so nothing is sent after a rollback, and throws the
 * first error, since in a failed transaction the rest fail as a consequence.
 */
export async function together<T extends readonly unknown[]>(...work: T): Promise<Answers<T>> {
  // drizzle's statements are sent each time that they are awaited.
  const sent = work.map(async (each) => each);
  const answers = Promise.all(sent) as Promise<Answers<T>>;
  const settled = Promise.allSettled(sent);
  try {
    return await answers;
  } finally {
    await settled;
  }
}

import { isSkipped } from './errors.ts';

type Answers<T extends readonly unknown[]> = { -readonly [K in keyof T]: Awaited<T[K]> };

/**
 * Statements of one transaction that don't depend on each other's results: they are sent as one message and answered together,
 * which shortens the time the transaction holds its locks. They run in the order of the arguments, so one may rely on rows that an
 * earlier one writes. Settles once all have settled, so nothing is sent after a rollback, and throws the error of the one that
 * failed, not of those skipped because of it.
 */
export async function together<T extends readonly unknown[]>(...work: T): Promise<Answers<T>> {
  // drizzle's statements are sent each time that they are awaited.
  const settled = await Promise.allSettled(work.map(async (each) => each));
  const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  if (errors.length > 0) throw errors.find((error) => !isSkipped(error)) ?? errors[0];
  return settled.map((each) => (each as PromiseFulfilledResult<unknown>).value) as Answers<T>;
}

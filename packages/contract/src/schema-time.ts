/**
 * The processor time that the schemas of others may take of a process. One check is broken off soon, but a thousand of them in a
 * row would leave nobody else any time: whoever's schemas have used up theirs is refused until the minute is over. The clock's
 * would blame them for what a busy machine makes everybody wait.
 */
import { rateLimited } from '@acp/kernel';

const MINUTE_MS = 60_000;
const MOST_MS = 1000;
/** What takes less is not worth counting. */
const LEAST_MS = 10;
const MOST_OWNERS = 1000;

const spent = new Map<string, { since: number; ms: number }>();

/** @param owner whose schemas they are @throws rateLimited before the work where no time is left, and what the work throws */
export function inTimeOf<T>(owner: string, work: () => T): T {
  const begun = performance.now();
  const known = spent.get(owner);
  const left_ms = known === undefined ? 0 : known.since + MINUTE_MS - begun;
  if (known !== undefined && left_ms > 0 && known.ms > MOST_MS)
    throw rateLimited('the input schemas of the tools take too long to check', Math.ceil(left_ms / 1000));
  const before = process.threadCpuUsage();
  try {
    return work();
  } finally {
    const { user, system } = process.threadCpuUsage(before);
    const took = (user + system) / 1000;
    if (took > LEAST_MS) add(owner, left_ms > 0 ? known : undefined, { since: begun, ms: took });
  }
}

function add(owner: string, known: { since: number; ms: number } | undefined, one: typeof known & object) {
  spent.delete(owner);
  spent.set(owner, known === undefined ? one : { since: known.since, ms: known.ms + one.ms });
  const [oldest] = spent.keys();
  if (spent.size > MOST_OWNERS && oldest !== undefined) spent.delete(oldest);
}

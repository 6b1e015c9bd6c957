/**
 * Limits the CPU time that third-party schemas may use in this process. A single check is interrupted soon, but a thousand in
 * a row would starve everyone else, so an owner whose schemas have used up their share is refused until the minute is over.
 * Wall-clock time would blame them for the delays of a busy machine.
 */
import { rateLimited } from '@acp/kernel';

const MINUTE_MS = 60_000;
const MOST_MS = 1000;
/** Less than this is not counted. */
const LEAST_MS = 10;
const MOST_OWNERS = 1000;

const spent = new Map<string, { since: number; ms: number }>();

/** @param owner the schemas' owner @throws rateLimited before the work if no time is left, and whatever the work throws */
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

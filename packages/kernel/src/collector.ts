import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface Collect {
  /** A full collection that also shrinks the heap; blocks the process for some 80 ms. */
  (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }): void;
  /** A minor one collects short-lived garbage and takes about a millisecond; a major one all, and takes some ten. */
  (options: { type: 'minor' | 'major'; execution: 'sync' }): void;
}

let collect: Collect | undefined;

/** V8's garbage collector, for the few places that know better than V8 when to run it. */
export function collector(): Collect {
  if (collect === undefined) {
    // The function is only exposed to contexts created after the flag was set.
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
    setFlagsFromString('--no-expose-gc');
  }
  return collect;
}

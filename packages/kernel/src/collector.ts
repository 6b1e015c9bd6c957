import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface Collect {
  /** All that can be given back; stops the process for some 80 ms. */
  (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }): void;
  /** What was made of late and is not needed any more; a millisecond. */
  (options: { type: 'minor'; execution: 'sync' }): void;
}

let collect: Collect | undefined;

/** V8's own collector, for the few who know better than V8 when its time is. */
export function collector(): Collect {
  if (collect === undefined) {
    // It shows itself only to contexts made after the flag was set.
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
    setFlagsFromString('--no-expose-gc');
  }
  return collect;
}

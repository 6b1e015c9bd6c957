import { collector } from '@acp/kernel';

const GARBAGE_BYTES = 8 * 1024 * 1024;
/** What two collections found in use, as the megabyte being uncompressed, only a major one frees. */
const MAJOR_EACH = 8;

let garbage = 0;
let collections = 0;

/**
 * A buffer's bytes are outside of V8's heap, so that discarded ones look small to V8 and would pile up by the hundred
 * megabytes before it collects them. A collection is forced every so many bytes. Whoever passes bytes on reports them, before
 * compression and after it: well compressed, a few frames are the garbage of hundreds of megabytes.
 */
export function discard(bytes: number): void {
  garbage += bytes;
  if (garbage < GARBAGE_BYTES) return;
  garbage = 0;
  collections += 1;
  collector()({ type: collections % MAJOR_EACH === 0 ? 'major' : 'minor', execution: 'sync' });
}

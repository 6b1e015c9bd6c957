import { claimFileText, releaseFileText, storeFileText } from '@acp/core';
import type { SchedulerContext } from '../context.ts';
import { extractStored } from '../extraction/extract-stored.ts';

/** Number of files per pass: then the timer goes on with other work. */
const AT_ONCE = 20;

type Context = Pick<SchedulerContext, 'config' | 'database' | 'storage'>;

/**
 * Extracts the pending texts of agents' files, alternating between companies.
 * @returns 0 if there were some, Infinity if none was pending
 */
export async function readFileTexts(context: Context, signal: AbortSignal): Promise<number> {
  const { db } = context.database;
  let last: string | null = null;
  for (let count = 0; count < AT_ONCE && !signal.aborted; count += 1) {
    const source = await claimFileText(db, last);
    if (source === undefined) return count === 0 ? Infinity : 0;
    last = source.company_id;
    try {
      await storeFileText(db, source.file_id, await extractStored(context, source, signal));
    } catch (err) {
      await releaseFileText(db, source.file_id);
      throw err;
    }
  }
  return 0;
}

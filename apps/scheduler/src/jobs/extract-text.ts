import { claimText, releaseText, storeAttachmentText } from '@acp/core';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import { extractStored } from '../extraction/extract-stored.ts';

type Context = Pick<SchedulerContext, 'config' | 'database' | 'storage'>;

/**
 * Extracts whichever text is next, not the one named by the job: no company waits for another's backlog. An unreadable file
 * is marked done, with the reason; if the store is away, it is retried.
 */
export function extractTextJob(context: Context): JobHandler<'extract-text'> {
  let last: string | null = null;
  return async (_payload, { signal }) => {
    const { db } = context.database;
    const source = await claimText(db, last);
    if (source === undefined) return;
    last = source.company_id;
    try {
      await storeAttachmentText(db, source.attachment_id, await extractStored(context, source, signal));
    } catch (err) {
      await releaseText(db, source.attachment_id);
      throw err;
    }
  };
}

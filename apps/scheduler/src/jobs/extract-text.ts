import { storeAttachmentText, textSource } from '@acp/core';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import { extractText } from '../extraction/extract.ts';

/** A file that can't be read is done, with the reason; a store that is away is tried again. */
export function extractTextJob({ database, storage }: SchedulerContext): JobHandler<'extract-text'> {
  return async ({ attachment_id: id }, { signal }) => {
    const source = await textSource(database.db, id);
    if (source === undefined) return;
    const bytes = await storage.get(source.storage_key);
    const result =
      bytes === undefined
        ? ({ status: 'failed', error: 'the file is missing' } as const)
        : await extractText(source.kind, bytes, signal);
    await storeAttachmentText(database.db, id, result);
  };
}

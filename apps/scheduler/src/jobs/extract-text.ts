import { storeAttachmentText, textSource } from '@acp/core';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import { LONGEST_OUTPUT_BYTES } from '../extraction/protocol.ts';
import { extractText } from '../extraction/extract.ts';

/** A file that can't be read is done, with the reason; a store that is away is tried again. */
export function extractTextJob({ database, storage }: SchedulerContext): JobHandler<'extract-text'> {
  return async ({ attachment_id: id }, { signal }) => {
    const source = await textSource(database.db, id);
    if (source === undefined) return;
    // Of a plain text the beginning is enough; the other kinds are read from their ends or as a whole.
    const begins = source.kind === 'plain' && source.size_bytes > LONGEST_OUTPUT_BYTES;
    const range = begins ? { start: 0, end: LONGEST_OUTPUT_BYTES - 1 } : undefined;
    const bytes = await storage.get(source.storage_key, range, signal);
    const result =
      bytes === undefined
        ? ({ status: 'failed', error: 'the file is missing' } as const)
        : await extractText(source.kind, bytes, signal);
    await storeAttachmentText(database.db, id, result);
  };
}

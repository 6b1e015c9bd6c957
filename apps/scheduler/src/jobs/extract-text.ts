import { claimText, type ExtractedText, releaseText, storeAttachmentText, type TextSource } from '@acp/core';
import type { JobHandler } from '@acp/queue';
import type { SchedulerContext } from '../context.ts';
import { LONGEST_INPUT_BYTES, LONGEST_OUTPUT_BYTES } from '../extraction/protocol.ts';
import { extractText } from '../extraction/extract.ts';

type Context = Pick<SchedulerContext, 'config' | 'database' | 'storage'>;

/**
 * Whichever text is next, not the one of the job: no company waits for another's backlog. A file that can't be read is
 * done, with the reason; a store that is away is tried again.
 */
export function extractTextJob(context: Context): JobHandler<'extract-text'> {
  let last: string | null = null;
  return async (_payload, { signal }) => {
    const { db } = context.database;
    const source = await claimText(db, last);
    if (source === undefined) return;
    last = source.company_id;
    try {
      await storeAttachmentText(db, source.attachment_id, await read(context, source, signal));
    } catch (err) {
      await releaseText(db, source.attachment_id);
      throw err;
    }
  };
}

async function read(
  { config, storage }: Context,
  { kind, size_bytes, storage_key }: TextSource,
  signal: AbortSignal,
): Promise<ExtractedText> {
  if (kind === null) return { status: 'none' };
  const most = kind === 'plain' ? LONGEST_OUTPUT_BYTES : LONGEST_INPUT_BYTES;
  const range = size_bytes > most ? { start: 0, end: most - 1 } : undefined;
  const bytes = await storage.get(storage_key, range, signal);
  if (bytes === undefined) return { status: 'failed', error: 'the file is missing' };
  return extractText(kind, bytes, signal, { hidden: [config.home] });
}

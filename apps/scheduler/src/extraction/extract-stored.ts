import type { ExtractedText, TextKind } from '@acp/core';
import type { SchedulerContext } from '../context.ts';
import { extractText } from './extract.ts';
import { LONGEST_INPUT_BYTES, LONGEST_OUTPUT_BYTES } from './protocol.ts';

/** Extracts the text of a stored file. Throws if the store is unavailable. */
export async function extractStored(
  { config, storage }: Pick<SchedulerContext, 'config' | 'storage'>,
  { kind, size_bytes, storage_key }: { kind: TextKind | null; size_bytes: number; storage_key: string },
  signal: AbortSignal,
): Promise<ExtractedText> {
  if (kind === null) return { status: 'none' };
  const most = kind === 'plain' ? LONGEST_OUTPUT_BYTES : LONGEST_INPUT_BYTES;
  const range = size_bytes > most ? { start: 0, end: most - 1 } : undefined;
  const bytes = await storage.get(storage_key, range, signal);
  if (bytes === undefined) return { status: 'failed', error: 'the file is missing' };
  try {
    return await extractText(kind, bytes, signal, { hidden: [config.home] });
  } finally {
    // Its reading may not even have begun.
    bytes.destroy();
  }
}

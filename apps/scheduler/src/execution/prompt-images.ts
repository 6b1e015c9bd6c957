import type { AdapterTask, TaskImage } from '@acp/adapters';
import { readImageHeader } from '@acp/core';
import type { Storage } from '@acp/storage';
import { buffer } from 'node:stream/consumers';
import type { Prompt, PromptImage } from './kinds/execution-kind.ts';

type Messages = AdapterTask['messages'];

/** In pixels: vendors refuse the whole call for a larger image. */
const WIDEST = 8000;

/**
 * Builds the messages of a run's first turn, with the bytes of their images. A file that is not really an image, whatever
 * its name, is left out and the message says so. Throws `unavailable` if the store can't be reached.
 */
export async function openMessages(
  storage: Storage,
  { history = [], user_message, images }: Prompt,
  signal: AbortSignal,
): Promise<Messages> {
  const messages = [...history, { role: 'user' as const, content: user_message, images }];
  return Promise.all(
    messages.map(async ({ role, content, images: named = [] }) => {
      if (named.length === 0) return { role, content };
      const opened = await Promise.all(named.map(async (image) => openImage(storage, image, signal)));
      const shown = opened.filter((image) => typeof image !== 'string');
      const words = opened.filter((image) => typeof image === 'string');
      return { role, content: [content, ...words].join('\n'), images: shown };
    }),
  );
}

/** Returns a note instead if the image can't be shown. */
async function openImage(
  storage: Storage,
  { filename, storage_key, size_bytes }: PromptImage,
  signal: AbortSignal,
): Promise<TaskImage | string> {
  // As a part, since of the whole a store may send more than the memory holds.
  const whole = { start: 0, end: Math.max(1, size_bytes) - 1 };
  const body = await storage.get(storage_key, whole, signal);
  const bytes = body === undefined ? Buffer.alloc(0) : await buffer(body);
  const header = readImageHeader(bytes);
  if (header === undefined || Math.max(header.width, header.height) > WIDEST)
    return `[${filename} is not an image that can be shown.]`;
  return { filename, media_type: header.type, bytes };
}

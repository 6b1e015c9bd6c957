/** One function for each kind of file (core/attachments): the file in, its text out; throws for what it can't read. */
import type { TextKind } from '@acp/core';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { decodeText } from './decode-text.ts';
import { extractHtml } from './html.ts';
import { LONGEST_TEXT } from './protocol.ts';
import type { TextSink } from './text-sink.ts';

export type Parse = (file: Readable, sink: TextSink) => Promise<void>;

/** All of it, or nothing: what turns out to be no text has none at its beginning either. */
async function extractPlain(file: Readable, sink: TextSink): Promise<void> {
  let text = '';
  for await (const part of decodeText(file)) {
    text += part;
    if (text.length > LONGEST_TEXT) break;
  }
  sink.write(text);
}

/** Each library is loaded for its own kind alone. */
export const parsers: Readonly<Record<TextKind, Parse>> = {
  plain: extractPlain,
  html: async (file, sink) => extractHtml(decodeText(file), sink),
  pdf: async (file, sink) => (await import('./pdf.ts')).extractPdf(await buffer(file), sink),
  docx: async (file, sink) => (await import('./docx.ts')).extractDocx(await buffer(file), sink),
  xlsx: async (file, sink) => (await import('./xlsx.ts')).extractXlsx(await buffer(file), sink),
  pptx: async (file, sink) => (await import('./pptx.ts')).extractPptx(await buffer(file), sink),
};

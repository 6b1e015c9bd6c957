/** One function per kind of file (core/attachments): takes the file, writes its text; throws if it can't be read. */
import type { TextKind } from '@acp/core';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { decodeText } from './decode-text.ts';
import { extractHtml } from './html.ts';
import { LONGEST_TEXT } from './protocol.ts';
import type { TextSink } from './text-sink.ts';

type Parse = (file: Readable, sink: TextSink) => Promise<void>;

/** Everything or nothing: in a file that turns out to be binary, the beginning is no text either. */
async function extractPlain(file: Readable, sink: TextSink): Promise<void> {
  let text = '';
  for await (const part of decodeText(file)) {
    text += part;
    if (text.length > LONGEST_TEXT) break;
  }
  sink.write(text);
}

/** Each library is loaded only for its own kind. */
export const parsers: Readonly<Record<TextKind, Parse>> = {
  plain: extractPlain,
  html: async (file, sink) => extractHtml(decodeText(file), sink),
  pdf: async (file, sink) => (await import('./pdf.ts')).extractPdf(await buffer(file), sink),
  docx: async (file, sink) => (await import('./docx.ts')).extractDocx(await buffer(file), sink),
  xlsx: async (file, sink) => (await import('./xlsx.ts')).extractXlsx(await buffer(file), sink),
  pptx: async (file, sink) => (await import('./pptx.ts')).extractPptx(await buffer(file), sink),
};

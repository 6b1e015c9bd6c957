/** One function for each kind of file (core/attachments): bytes in, text out; throws for what it can't read. */
import { extractPptx } from './pptx.ts';
import { extractXlsx } from './xlsx.ts';
import { extractHtml } from './html.ts';

export type Parse = (bytes: Buffer) => Promise<string> | string;

/** UTF-8 unless a byte order mark says otherwise. */
function extractPlain(bytes: Buffer): string {
  const [first, second] = bytes;
  const little = first === 0xff && second === 0xfe;
  const big = first === 0xfe && second === 0xff;
  const text = new TextDecoder(little ? 'utf-16le' : big ? 'utf-16be' : 'utf-8').decode(bytes);
  // Something else under the name of a text.
  if (text.includes('\0')) throw new Error('not a text file');
  return text;
}

async function extractPdf(bytes: Buffer): Promise<string> {
  const { extractText, getDocumentProxy } = await import('unpdf');
  const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 });
  const { text } = await extractText(document, { mergePages: false });
  return text.join('\n\n');
}

async function extractDocx(bytes: Buffer): Promise<string> {
  const { extractRawText } = await import('mammoth');
  return (await extractRawText({ buffer: bytes })).value;
}

export const parsers: Readonly<Record<string, Parse>> = {
  plain: extractPlain,
  html: (bytes) => extractHtml(extractPlain(bytes)),
  pdf: extractPdf,
  docx: extractDocx,
  xlsx: extractXlsx,
  pptx: extractPptx,
};

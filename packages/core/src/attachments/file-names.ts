/** Sanitises what clients say about files, and determines which files contain text to extract. */

import { cutText } from '@acp/kernel';

const LONGEST_NAME_BYTES = 200;

/** The last part of a path, without control characters and cut to a reasonable length; `file` if nothing is left. */
export function cleanFilename(name: string): string {
  const last = name.toWellFormed().split(/[/\\]/).at(-1) ?? '';
  let clean = last.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, '').trim();
  if (Buffer.byteLength(clean) > LONGEST_NAME_BYTES) {
    // The extension is kept, as it identifies the type.
    const extension = /\.[\w-]{1,16}$/.exec(clean)?.[0] ?? '';
    clean =
      cutText(clean.slice(0, clean.length - extension.length), LONGEST_NAME_BYTES - extension.length) +
      extension;
  }
  return /^\.{0,2}$/.test(clean) ? 'file' : clean;
}

/** `type/subtype` in lower case; `application/octet-stream` for anything else. */
export function cleanContentType(type: string): string {
  const [bare = ''] = type.toLowerCase().split(';');
  const token = /^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,100}$/;
  return token.test(bare.trim()) ? bare.trim() : 'application/octet-stream';
}

/** How a file's text is extracted. */
export type TextKind = 'plain' | 'html' | 'pdf' | 'docx' | 'xlsx' | 'pptx';

const byExtension: Readonly<Record<string, TextKind>> = {
  txt: 'plain',
  text: 'plain',
  log: 'plain',
  md: 'plain',
  markdown: 'plain',
  csv: 'plain',
  tsv: 'plain',
  json: 'plain',
  jsonl: 'plain',
  yaml: 'plain',
  yml: 'plain',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  pdf: 'pdf',
  docx: 'docx',
  xlsx: 'xlsx',
  pptx: 'pptx',
};

const OFFICE = 'application/vnd.openxmlformats-officedocument.';
const byType: Readonly<Record<string, TextKind>> = {
  'application/json': 'plain',
  'application/x-ndjson': 'plain',
  'application/yaml': 'plain',
  'application/xhtml+xml': 'html',
  'text/html': 'html',
  'application/pdf': 'pdf',
  [`${OFFICE}wordprocessingml.document`]: 'docx',
  [`${OFFICE}spreadsheetml.sheet`]: 'xlsx',
  [`${OFFICE}presentationml.presentation`]: 'pptx',
};

/** By the declared type, or else by extension, since many clients declare nothing. Null: no text to extract. */
export function textKindOf(filename: string, contentType: string): TextKind | null {
  if (Object.hasOwn(byType, contentType)) return byType[contentType]!;
  const extension = filename.toLowerCase().split('.').at(-1) ?? '';
  if (Object.hasOwn(byExtension, extension)) return byExtension[extension]!;
  return contentType.startsWith('text/') ? 'plain' : null;
}

/** Office documents are zip archives of XML files; each file is unpacked in chunks, as far as its text is wanted. */
import { type Entry, fromBufferPromise } from 'yauzl';
import { Parser } from 'htmlparser2';
import { decodeText } from './decode-text.ts';

/** Unpackers of the archive's files, by file name. */
export type Archive = ReadonlyMap<string, () => AsyncIterable<Buffer>>;

const MAX_FILES = 20_000;

/** The files whose names match. Throws if it is not a zip archive. */
export async function openArchive(bytes: Buffer, wanted: RegExp): Promise<Archive> {
  const zip = await fromBufferPromise(bytes, { lazyEntries: true });
  const files = new Map<string, () => AsyncIterable<Buffer>>();
  for await (const entry of zip.eachEntry()) {
    if (wanted.test(entry.fileName)) files.set(entry.fileName, () => unpack(entry));
    if (files.size > MAX_FILES) throw new Error('the document has too many parts');
  }
  return files;

  async function* unpack(entry: Entry): AsyncGenerator<Buffer> {
    yield* (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>;
  }
}

const local = (name: string) => name.slice(name.indexOf(':') + 1);
const numberOf = (name: string) => Number(/(\d{1,9})\.xml$/.exec(name)?.[1] ?? 0);

interface XmlEvents {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  text?: (text: string) => void;
  close?: (name: string) => void;
}

/** Names without their prefixes, which each document chooses freely. Entities of a DTD are never expanded. */
export async function readXml(file: AsyncIterable<Buffer>, events: XmlEvents): Promise<void> {
  const parser = new Parser(
    {
      onopentag: (name, attributes) => events.open?.(local(name), attributes),
      ontext: (text) => events.text?.(text),
      onclosetag: (name) => events.close?.(local(name)),
    },
    { xmlMode: true },
  );
  for await (const part of decodeText(file)) parser.write(part);
  parser.end();
}

/** Sorted by the number in their names: `slide10` follows `slide9`. */
export function byNumber(names: readonly string[]): string[] {
  return names.toSorted((a, b) => numberOf(a) - numberOf(b));
}

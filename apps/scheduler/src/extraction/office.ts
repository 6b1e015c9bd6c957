/** Office documents are zip archives of XML files; each file is unpacked in chunks, as far as its text is wanted. */
import { type Entry, fromBufferPromise } from 'yauzl';
import { Parser } from 'htmlparser2';
import { posix } from 'node:path';
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

interface Relation {
  /** A URL that ends in the kind of the part: `…/notesSlide`. */
  type: string;
  part: string;
}

/** The parts that a part refers to, by the ids that it has for them; undefined if the archive does not say. */
export async function relationsOf(
  archive: Archive,
  part: string,
): Promise<ReadonlyMap<string, Relation> | undefined> {
  const folder = posix.dirname(part);
  const open = archive.get(`${folder}/_rels/${posix.basename(part)}.rels`);
  if (open === undefined) return undefined;
  const relations = new Map<string, Relation>();
  await readXml(open(), {
    open: (name, { Id = '', Type: type = '', Target: target = '' }) => {
      if (name !== 'Relationship') return;
      const place = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
      relations.set(Id, { type, part: place });
    },
  });
  return relations;
}

/** Elements of a part that each refer to another one, in their order: the numbers of parts say nothing. */
export async function listedIn(
  archive: Archive,
  part: string,
  element: string,
): Promise<{ attributes: Readonly<Record<string, string>>; part: string | undefined }[]> {
  const open = archive.get(part);
  if (open === undefined) return [];
  const relations = await relationsOf(archive, part);
  const listed: Awaited<ReturnType<typeof listedIn>> = [];
  await readXml(open(), {
    open: (name, attributes) => {
      if (name !== element) return;
      const id = Object.keys(attributes).find((each) => each.includes(':') && local(each) === 'id');
      listed.push({ attributes, part: id && relations?.get(attributes[id]!)?.part });
    },
  });
  return listed;
}

/** Office documents are zip archives of XML files. */
import { strFromU8, unzipSync } from 'fflate';
import { Parser } from 'htmlparser2';

export type Archive = Readonly<Record<string, string>>;

const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** The files whose names match, as text. Throws for what is no zip archive, or says that it unpacks to too much. */
export function openArchive(bytes: Buffer, wanted: RegExp): Archive {
  const files = unzipSync(bytes, {
    filter: ({ name, originalSize }) => {
      if (!wanted.test(name)) return false;
      if (originalSize > MAX_FILE_BYTES) throw new Error('the document unpacks to too much');
      return true;
    },
  });
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [name, strFromU8(content)]));
}

const local = (name: string) => name.slice(name.indexOf(':') + 1);
const numberOf = (name: string) => Number(/(\d+)\.xml$/.exec(name)?.[1] ?? 0);

interface XmlEvents {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  text?: (text: string) => void;
  close?: (name: string) => void;
}

/** Names without their prefixes: which one a document uses is up to its writer. Entities of a DTD are never expanded. */
export function readXml(xml: string, events: XmlEvents): void {
  const parser = new Parser(
    {
      onopentag: (name, attributes) => events.open?.(local(name), attributes),
      ontext: (text) => events.text?.(text),
      onclosetag: (name) => events.close?.(local(name)),
    },
    { xmlMode: true },
  );
  parser.end(xml);
}

/** By the number in their names: `slide10` comes after `slide9`. */
export function byNumber(names: readonly string[]): string[] {
  return names.toSorted((a, b) => numberOf(a) - numberOf(b));
}

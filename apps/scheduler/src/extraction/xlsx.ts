import { type Archive, byNumber, openArchive, readXml } from './office.ts';
import { LONGEST_TEXT } from './protocol.ts';
import type { TextSink } from './text-sink.ts';

/** Limit for all shared texts together: they are in memory while the cells are read. */
const SHARED_CHARACTERS = 16 * LONGEST_TEXT;
const SHARED_TEXTS = 1_000_000;
/** Stands for a shared text beyond the limit. */
const UNKNOWN = '…';

/** Every sheet under its name: a line per row, tabs between the cells; formulas by their stored results. */
export async function extractXlsx(bytes: Buffer, sink: TextSink): Promise<void> {
  const archive = await openArchive(bytes, /^xl\/(?:workbook|sharedStrings|worksheets\/sheet\d+)\.xml$/);
  const sheets = byNumber([...archive.keys()].filter((name) => name.startsWith('xl/worksheets/')));
  if (sheets.length === 0) throw new Error('not a spreadsheet');
  const names = await sheetNames(archive);
  const shared = await sharedStrings(archive);
  for (const [index, sheet] of sheets.entries()) {
    sink.write(names[index] ?? `Sheet ${index + 1}`);
    sink.separate('\n');
    await writeRows(archive.get(sheet)!(), shared, sink);
    sink.separate('\n\n');
    sink.flush();
  }
}

async function sheetNames(archive: Archive): Promise<string[]> {
  const names: string[] = [];
  await readPart(archive, 'xl/workbook.xml', {
    open: (name, attributes) => {
      if (name === 'sheet') names.push(attributes.name ?? '');
    },
  });
  return names;
}

class Enough extends Error {}

/** Texts shared by several cells; each may be split into runs of different formatting. */
async function sharedStrings(archive: Archive): Promise<string[]> {
  const strings: string[] = [];
  let room = SHARED_CHARACTERS;
  let current = '';
  let inText = false;
  let phonetic = false;
  const read = readPart(archive, 'xl/sharedStrings.xml', {
    open: (name) => {
      if (name === 'si') current = '';
      else if (name === 't') inText = true;
      else if (name === 'rPh') phonetic = true;
    },
    text: (part) => {
      if (!inText || phonetic) return;
      current += part;
      room -= part.length;
      if (room <= 0 || strings.length > SHARED_TEXTS) throw new Enough();
    },
    close: (name) => {
      if (name === 'si') strings.push(current);
      else if (name === 't') inText = false;
      else if (name === 'rPh') phonetic = false;
    },
  });
  await read.catch((err: unknown) => {
    if (!(err instanceof Enough)) throw err;
  });
  return strings;
}

async function readPart(
  archive: Archive,
  name: string,
  events: Parameters<typeof readXml>[1],
): Promise<void> {
  const open = archive.get(name);
  if (open !== undefined) await readXml(open(), events);
}

async function writeRows(
  xml: AsyncIterable<Buffer>,
  shared: readonly string[],
  sink: TextSink,
): Promise<void> {
  let row = '';
  let type = '';
  let value = '';
  let inValue = false;
  await readXml(xml, {
    open: (name, attributes) => {
      if (name === 'row') row = '';
      else if (name === 'c') [type, value] = [attributes.t ?? 'n', ''];
      else if (name === 'v' || name === 't') inValue = true;
    },
    text: (part) => {
      if (inValue && value.length <= LONGEST_TEXT) value += part;
    },
    close: (name) => {
      if (name === 'v' || name === 't') inValue = false;
      // A million cells may share one long text: text beyond the limit is not assembled.
      else if (name === 'c' && row.length <= LONGEST_TEXT)
        row += `${type === 's' ? (shared[Number(value)] ?? UNKNOWN) : value}\t`;
      else if (name === 'row') {
        sink.write(row.trimEnd());
        sink.separate('\n');
      }
    },
  });
}

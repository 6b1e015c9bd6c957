import { type Archive, byNumber, listedIn, openArchive, readXml } from './office.ts';
import { LONGEST_TEXT } from './protocol.ts';
import type { TextSink } from './text-sink.ts';

/** Limit for all shared texts together: they are in memory while the cells are read. */
const SHARED_CHARACTERS = 16 * LONGEST_TEXT;
const SHARED_TEXTS = 1_000_000;
/** Stands for a shared text beyond the limit. */
const UNKNOWN = '…';

const PARTS = /^xl\/(?:(?:workbook|sharedStrings|worksheets\/sheet\d+)\.xml|_rels\/workbook\.xml\.rels)$/;
/** The most that a sheet has. */
const COLUMNS = 16_384;

/** Every sheet under its name: a line per row, tabs between the cells; formulas by their stored results. */
export async function extractXlsx(bytes: Buffer, sink: TextSink): Promise<void> {
  const archive = await openArchive(bytes, PARTS);
  const sheets = await sheetsOf(archive);
  if (sheets.size === 0) throw new Error('not a spreadsheet');
  const shared = await sharedStrings(archive);
  let number = 0;
  for (const [sheet, name] of sheets) {
    number += 1;
    sink.write(name ?? `Sheet ${number}`);
    sink.separate('\n');
    await writeRows(archive.get(sheet)!(), shared, sink);
    sink.separate('\n\n');
    sink.flush();
  }
}

/** Their names by their parts, in the workbook's order, which also lists charts; those that it does not list come last. */
async function sheetsOf(archive: Archive): Promise<Map<string, string | undefined>> {
  const all = byNumber([...archive.keys()].filter((name) => name.startsWith('xl/worksheets/')));
  const listed = await listedIn(archive, 'xl/workbook.xml', 'sheet');
  const known = new Set(all);
  const named = listed.flatMap(({ part, attributes }) =>
    part !== undefined && known.has(part) ? [[part, attributes.name] as const] : [],
  );
  if (named.length === 0) return new Map(all.map((part, index) => [part, listed[index]?.attributes.name]));
  const sheets = new Map<string, string | undefined>(named);
  for (const part of all) if (!sheets.has(part)) sheets.set(part, undefined);
  return sheets;
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
  let columns = 0;
  let type = '';
  let value = '';
  let inValue = false;
  await readXml(xml, {
    open: (name, attributes) => {
      if (name === 'row') [row, columns] = ['', 0];
      else if (name === 'c') {
        [type, value] = [attributes.t ?? 'n', ''];
        // Empty cells are left out of the file.
        const gap = Math.max(0, columnOf(attributes.r) - columns);
        if (row.length <= LONGEST_TEXT) row += '\t'.repeat(gap);
        columns += gap + 1;
      } else if (name === 'v' || name === 't') inValue = true;
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

/** Counted from 0, which also stands for what is no place. */
function columnOf(place = ''): number {
  const letters = /^([A-Z]{1,3})\d/.exec(place)?.[1] ?? 'A';
  const number = Array.from(letters).reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 64, 0);
  return number > COLUMNS ? 0 : number - 1;
}

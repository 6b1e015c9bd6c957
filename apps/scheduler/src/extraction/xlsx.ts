import { type Archive, byNumber, openArchive, readXml } from './office.ts';
import { LONGEST_TEXT } from './protocol.ts';

/** Every sheet under its name: a line for each row, tabs between the cells; formulas by their stored results. */
export function extractXlsx(bytes: Buffer): string {
  const archive = openArchive(bytes, /^xl\/(?:workbook|sharedStrings|worksheets\/sheet\d+)\.xml$/);
  const sheets = byNumber(Object.keys(archive).filter((name) => name.startsWith('xl/worksheets/')));
  if (sheets.length === 0) throw new Error('not a spreadsheet');
  const names = sheetNames(archive);
  const shared = sharedStrings(archive);
  let text = '';
  for (const [index, sheet] of sheets.entries()) {
    text += `${names[index] ?? `Sheet ${index + 1}`}\n${rows(archive[sheet]!, shared)}\n`;
    if (text.length > LONGEST_TEXT) break;
  }
  return text;
}

function sheetNames(archive: Archive): string[] {
  const names: string[] = [];
  readXml(archive['xl/workbook.xml'] ?? '', {
    open: (name, attributes) => {
      if (name === 'sheet') names.push(attributes.name ?? '');
    },
  });
  return names;
}

/** Texts that several cells share; each may be cut into runs of different looks. */
function sharedStrings(archive: Archive): string[] {
  const strings: string[] = [];
  let current = '';
  let inText = false;
  let phonetic = false;
  readXml(archive['xl/sharedStrings.xml'] ?? '', {
    open: (name) => {
      if (name === 'si') current = '';
      else if (name === 't') inText = true;
      else if (name === 'rPh') phonetic = true;
    },
    text: (part) => {
      if (inText && !phonetic) current += part;
    },
    close: (name) => {
      if (name === 'si') strings.push(current);
      else if (name === 't') inText = false;
      else if (name === 'rPh') phonetic = false;
    },
  });
  return strings;
}

function rows(xml: string, shared: readonly string[]): string {
  let text = '';
  let cells: string[] = [];
  let type = '';
  let value = '';
  let inValue = false;
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'row') cells = [];
      else if (name === 'c') [type, value] = [attributes.t ?? 'n', ''];
      else if (name === 'v' || name === 't') inValue = true;
    },
    text: (part) => {
      if (inValue) value += part;
    },
    close: (name) => {
      if (name === 'v' || name === 't') inValue = false;
      else if (name === 'c') cells.push(type === 's' ? (shared[Number(value)] ?? '') : value);
      // A million cells may share one long text: what is over the limit is not put together.
      else if (name === 'row' && text.length <= LONGEST_TEXT) text += `${cells.join('\t').trimEnd()}\n`;
    },
  });
  return text;
}

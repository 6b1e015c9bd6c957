/** Real processes, real files of each kind, and malicious files. */
import { describe, expect, it } from '@jest/globals';
import type { TextKind } from '@acp/core';
import { strToU8, zipSync } from 'fflate';
import { Readable } from 'node:stream';
import { deflateRawSync, deflateSync } from 'node:zlib';
import { extractText, type ExtractionLimits } from './extract.ts';
import { LONGEST_TEXT } from './protocol.ts';

const never = new AbortController().signal;

async function extract(kind: TextKind, bytes: Uint8Array | string, limits?: ExtractionLimits) {
  const source = Readable.from([Buffer.from(bytes as Uint8Array)]);
  return extractText(kind, source, never, { hidden: [], ...(limits && { limits }) });
}

function archive(files: Record<string, string>): Uint8Array {
  return zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])));
}

/** Pages with compressed content streams. */
function pdf(...contents: Buffer[]): Buffer {
  const pages = contents.map((content, index) => [
    `<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents ${5 + 2 * index} 0 R/Resources<</Font<</F1 3 0 R>>>>>>`,
    `<</Length ${content.length}/Filter/FlateDecode>>stream\n${content.toString('latin1')}\nendstream`,
  ]);
  const kids = pages.map((_page, index) => `${4 + 2 * index} 0 R`).join(' ');
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    ...pages.flat(),
  ];
  let place = 9;
  const written = objects.map((object, index) => `${index + 1} 0 obj${object}endobj\n`);
  const places = written.map((object) => {
    const row = `${String(place).padStart(10, '0')} 00000 n \n`;
    place += object.length;
    return row;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${place}\n%%EOF`;
  return Buffer.from(`%PDF-1.4\n${written.join('')}${table}`, 'latin1');
}

const page = (text: string) => deflateSync(`BT /F1 12 Tf 20 100 Td (${text}) Tj ET`);

const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
function docx(document: string): Record<string, string> {
  return {
    '[Content_Types].xml':
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    '_rels/.rels':
      '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
    'word/document.xml': `<w:document ${W}><w:body>${document}</w:body></w:document>`,
  };
}

const relations = (...rows: [id: string, type: string, target: string][]) =>
  `<Relationships>${rows.map(([id, type, target]) => `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/>`).join('')}</Relationships>`;

const slide = (text: string) => `<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`;

describe('texts', () => {
  it('plain ones: as they are, in UTF-8 or UTF-16', async () => {
    expect(await extract('plain', 'a,b\n1,2 – ä')).toEqual({
      status: 'done',
      extracted_text: 'a,b\n1,2 – ä',
    });
    const utf16 = Buffer.from('\ufeffgrüße', 'utf16le');
    expect(await extract('plain', utf16)).toEqual({ status: 'done', extracted_text: 'grüße' });
  });

  it('HTML: what a reader would see', async () => {
    const html =
      '<title>A page</title><style>p{}</style><h1>Plan &amp; <b>goal</b></h1><p>one<br>two</p><script>alert("no")</script><table><tr><td>a</td><td>b</td></tr></table>';
    expect(await extract('html', html)).toMatchObject({
      extracted_text: 'A page\nPlan & goal\none\ntwo\na\tb',
    });
  });

  it('PDF', async () => {
    expect(await extract('pdf', pdf(page('Quarterly report'), page('Outlook')))).toEqual({
      status: 'done',
      extracted_text: 'Quarterly report\n\nOutlook',
    });
  });

  it('DOCX', async () => {
    const document = '<w:p><w:r><w:t>First</w:t></w:r></w:p><w:p><w:r><w:t>Second</w:t></w:r></w:p>';
    expect(await extract('docx', archive(docx(document)))).toMatchObject({
      extracted_text: 'First\n\nSecond',
    });
  });

  it('XLSX: sheets, shared and own texts, numbers', async () => {
    const bytes = archive({
      'xl/workbook.xml': '<workbook><sheets><sheet name="Costs"/><sheet name="Plan"/></sheets></workbook>',
      'xl/sharedStrings.xml': '<sst><si><t>Item</t></si><si><r><t>Pri</t></r><r><t>ce</t></r></si></sst>',
      'xl/worksheets/sheet1.xml':
        '<x:worksheet xmlns:x="y"><x:row><x:c t="s"><x:v>0</x:v></x:c><x:c t="s"><x:v>1</x:v></x:c></x:row><x:row><x:c t="inlineStr"><x:is><x:t>Tea</x:t></x:is></x:c><x:c><x:f>1+1</x:f><x:v>2</x:v></x:c></x:row></x:worksheet>',
      'xl/worksheets/sheet2.xml': '<worksheet><row><c><v>7</v></c></row></worksheet>',
    });
    expect(await extract('xlsx', bytes)).toMatchObject({
      extracted_text: 'Costs\nItem\tPrice\nTea\t2\n\nPlan\n7',
    });
  });

  it('XLSX: each sheet under its own name, whatever its part is called; each cell in its column', async () => {
    const bytes = archive({
      'xl/workbook.xml':
        '<workbook xmlns:r="x"><sheets><sheet name="Chart" r:id="c"/><sheet name="Plan" r:id="b"/><sheet name="Costs" r:id="a"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels': relations(
        ['c', 'chartsheet', 'chartsheets/sheet1.xml'],
        ['a', 'worksheet', '/xl/worksheets/sheet1.xml'],
        ['b', 'worksheet', 'worksheets/sheet2.xml'],
      ),
      'xl/worksheets/sheet1.xml':
        '<worksheet><row><c r="A1"><v>1</v></c><c r="D1"><v>4</v></c></row><row><c r="AB2"><v>28</v></c><c r="ZZZZZZZ2"><v>29</v></c></row></worksheet>',
      'xl/worksheets/sheet2.xml': '<worksheet><row><c><v>7</v></c></row></worksheet>',
    });
    expect(await extract('xlsx', bytes)).toMatchObject({
      extracted_text: `Plan\n7\n\nCosts\n1\t\t\t4\n${'\t'.repeat(27)}28\t29`,
    });
  });

  it('PPTX: slides as they are shown, each with its own notes', async () => {
    const notes = (number: number) =>
      relations(['n', 'notesSlide', `../notesSlides/notesSlide${number}.xml`]);
    const bytes = archive({
      'ppt/presentation.xml':
        '<p:presentation><p:sldIdLst><p:sldId id="256" r:id="two"/><p:sldId id="257" r:id="one"/><p:sldId id="258" r:id="three"/></p:sldIdLst></p:presentation>',
      'ppt/_rels/presentation.xml.rels': relations(
        ['one', 'slide', 'slides/slide1.xml'],
        ['two', 'slide', 'slides/slide2.xml'],
        ['three', 'slide', 'slides/slide3.xml'],
      ),
      'ppt/slides/slide1.xml': slide('Sails'),
      'ppt/slides/slide2.xml': slide('Title'),
      'ppt/slides/slide3.xml': slide('Ropes'),
      'ppt/slides/_rels/slide1.xml.rels': relations(['l', 'slideLayout', '../slideLayouts/slideLayout1.xml']),
      'ppt/slides/_rels/slide3.xml.rels': notes(1),
      'ppt/slides/_rels/slide2.xml.rels': notes(2),
      'ppt/notesSlides/notesSlide1.xml': slide('Of ropes'),
      'ppt/notesSlides/notesSlide2.xml': slide('Say hello'),
    });
    expect(await extract('pptx', bytes)).toMatchObject({
      extracted_text: 'Title\nSay hello\n\nSails\n\nRopes\nOf ropes',
    });
  });

  it('PPTX: slides in their order, with notes', async () => {
    const bytes = archive({
      'ppt/slides/slide10.xml': slide('Last'),
      'ppt/slides/slide2.xml': slide('Second'),
      'ppt/slides/slide1.xml': slide('First'),
      'ppt/notesSlides/notesSlide1.xml': slide('Say hello'),
    });
    expect(await extract('pptx', bytes)).toMatchObject({
      extracted_text: 'First\nSay hello\n\nSecond\n\nLast',
    });
  });

  it('nothing in it: none', async () => {
    expect(await extract('plain', ' \n')).toEqual({ status: 'none' });
    expect(await extract('html', '<p></p>')).toEqual({ status: 'none' });
  });
});

const cell = '<row><c><v>12345678</v></c></row>';
/** A page's text, line by line; text outside the page does not count. */
const fullPage = (index: number) =>
  deflateSync(`BT /F1 1 Tf ${`1 0 0 1 20 100 Tm (${index} ${'y'.repeat(60)}) Tj `.repeat(100)} ET`);
const manyPages = Array.from({ length: 120 }, (_each, index) => fullPage(index));
const large: readonly (readonly [TextKind, () => Uint8Array | string, string])[] = [
  ['plain', () => 'ä'.repeat(3 * LONGEST_TEXT), 'ää'],
  [
    'html',
    () => `<title>T</title><script>${'x'.repeat(9_000_000)}</script>${'<p>word'.repeat(3_000_000)}`,
    'T\nword',
  ],
  ['pdf', () => pdf(...manyPages), '0 yy'],
  ['docx', () => archive(docx(`<w:p><w:r><w:t>${'x'.repeat(100_000_000)}</w:t></w:r></w:p>`)), 'xx'],
  [
    'xlsx',
    () => archive({ 'xl/worksheets/sheet1.xml': `<worksheet>${cell.repeat(3_000_000)}` }),
    'Sheet 1\n12345678\n',
  ],
  ['pptx', () => archive({ 'ppt/slides/slide1.xml': slide('x'.repeat(100_000_000)) }), 'xx'],
];

describe('more than is kept', () => {
  it.each(large)(
    '%s: the beginning, in little memory, the rest is not read',
    async (kind, make, beginning) => {
      const before = process.memoryUsage.rss();
      const bytes = make();
      const own = process.memoryUsage.rss() - before;
      const result = await extract(kind, bytes, { timeout_ms: 20_000, memory_mb: 250 });
      if (result.status !== 'done') throw new Error(JSON.stringify(result));
      const { extracted_text: text } = result;
      expect(text.length).toBe(LONGEST_TEXT);
      expect(text.slice(0, beginning.length)).toBe(beginning);
      expect(text.slice(-100)).not.toContain('[The rest');
      expect(process.memoryUsage.rss() - before - own).toBeLessThan(150_000_000);
    },
  );

  it('what a limit strikes in the middle keeps what was read before, and says so', async () => {
    const bomb = deflateSync(Buffer.alloc(400_000_000, '[ '));
    const limits = { timeout_ms: 20_000, memory_mb: 300 };
    expect(await extract('pdf', pdf(page('The plan'), bomb, page('never')), limits)).toEqual({
      status: 'done',
      extracted_text: 'The plan\n[The rest was not read: the file took too much time or memory]',
    });
  });

  it('what is broken in the middle keeps what was read before, with the reason', async () => {
    const bytes = Buffer.from(
      archive({ 'xl/worksheets/sheet1.xml': `<worksheet>${cell}`, 'xl/worksheets/sheet2.xml': 'x' }),
    );
    // The uncompressed size of the second sheet, in the central directory.
    bytes.writeUInt32LE(2_000_000_000, bytes.lastIndexOf('PK\u0001\u0002', undefined, 'latin1') + 24);
    expect(await extract('xlsx', bytes)).toMatchObject({
      status: 'done',
      extracted_text: expect.stringMatching(
        /^Sheet 1\n12345678\n\nSheet 2\n\[The rest was not read: .*not enough bytes/,
      ),
    });
  });
});

const tooMuch = { status: 'failed', error: 'the file took too much time or memory' };

describe('files that mean harm, or none', () => {
  it.each(['pdf', 'docx', 'xlsx', 'pptx'] as const)(
    '%s that is none: failed, with the reason',
    async (kind) => {
      expect(await extract(kind, 'not at all')).toEqual({
        status: 'failed',
        error: expect.stringMatching(/\w/),
      });
    },
  );

  it('sheets with numbers of sixty thousand digits: read like others', async () => {
    const sheet = (text: string) =>
      `<worksheet><row><c t="inlineStr"><is><t>${text}</t></is></c></row></worksheet>`;
    const digits = '1'.repeat(60_000);
    const files = {
      [`xl/worksheets/sheet${digits}2.xml`]: sheet('b'),
      'xl/worksheets/sheet1.xml': sheet('a'),
    };
    expect(await extract('xlsx', archive(files))).toMatchObject({
      extracted_text: 'Sheet 1\na\n\nSheet 2\nb',
    });
  });

  it('a picture under the name of a text: failed', async () => {
    expect(await extract('plain', Buffer.from([0x89, 0x50, 0, 0, 1]))).toMatchObject({ status: 'failed' });
  });

  it('a PDF whose page unpacks to hundreds of megabytes: failed or empty, within bounds', async () => {
    const bomb = pdf(deflateSync(Buffer.alloc(400_000_000, ' ')));
    const result = await extract('pdf', bomb, { timeout_ms: 20_000, memory_mb: 300 });
    expect(['none', 'failed']).toContain(result.status);
  });

  it('entities that would expand to gigabytes stay as they are', async () => {
    const entities = Array.from({ length: 20 }, (_each, i) => `<!ENTITY e${i + 1} "&e${i};&e${i};">`).join(
      '',
    );
    const xml = `<!DOCTYPE x [<!ENTITY e0 "lol">${entities}]><worksheet><row><c><v>&e20;</v></c></row></worksheet>`;
    const result = await extract('xlsx', archive({ 'xl/worksheets/sheet1.xml': xml }));
    expect(JSON.stringify(result).length).toBeLessThan(2000);
  });

  it('a parser that does not end: its process is ended', async () => {
    const endless = new Readable({ read: () => undefined });
    const limits = { timeout_ms: 300, memory_mb: 200 };
    expect(await extractText('plain', endless, never, { hidden: [], limits })).toEqual(tooMuch);
  });

  it('the scheduler stops: the attempt is given up, to be made again', async () => {
    const stop = new AbortController();
    const attempt = extractText('plain', Readable.from(['x']), stop.signal, { hidden: [] });
    stop.abort(new Error('stopping'));
    await expect(attempt).rejects.toThrow('stopping');
  });

  it('the store breaks off in the middle: an error, to be tried again', async () => {
    const source = new Readable({
      read() {
        this.destroy(new Error('the store went away'));
      },
    });
    await expect(extractText('plain', source, never, { hidden: [] })).rejects.toThrow('the store went away');
  });

  it('raw garbage in a well-formed archive: failed', async () => {
    const garbage = deflateRawSync(Buffer.from('<w:document'));
    expect(await extract('docx', garbage)).toMatchObject({ status: 'failed' });
  });
});

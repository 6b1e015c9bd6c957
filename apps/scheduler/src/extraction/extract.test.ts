/** Real processes, real files of each kind, and files that mean harm. */
import { describe, expect, it } from '@jest/globals';
import type { TextKind } from '@acp/core';
import { strToU8, zipSync } from 'fflate';
import { Readable } from 'node:stream';
import { deflateRawSync, deflateSync } from 'node:zlib';
import { extractText } from './extract.ts';
import { LONGEST_TEXT } from './protocol.ts';

const never = new AbortController().signal;

async function extract(
  kind: TextKind,
  bytes: Uint8Array | string,
  limits?: Parameters<typeof extractText>[3],
) {
  return extractText(kind, Readable.from([Buffer.from(bytes as Uint8Array)]), never, limits);
}

function archive(files: Record<string, string>): Uint8Array {
  return zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])));
}

/** One page with the text, its content stream packed. */
function pdf(text: string, content = deflateSync(`BT /F1 12 Tf 20 100 Td (${text}) Tj ET`)): Buffer {
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${content.length}/Filter/FlateDecode>>stream\n${content.toString('latin1')}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ];
  let body = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const place = body.length;
    body += `${index + 1} 0 obj${object}endobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 6\n0000000000 65535 f \n${places.join('')}trailer<</Size 6/Root 1 0 R>>\nstartxref\n${body.length}\n%%EOF`;
  return Buffer.from(body + table, 'latin1');
}

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
    expect(await extract('pdf', pdf('Quarterly report'))).toEqual({
      status: 'done',
      extracted_text: 'Quarterly report',
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

  it('a text over the limit is cut', async () => {
    const result = await extract('plain', 'ä'.repeat(LONGEST_TEXT + 10));
    expect(result).toMatchObject({ status: 'done', extracted_text: 'ä'.repeat(LONGEST_TEXT) });
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

  it('a picture under the name of a text: failed', async () => {
    expect(await extract('plain', Buffer.from([0x89, 0x50, 0, 0, 1]))).toMatchObject({ status: 'failed' });
  });

  it('a document that unpacks to gigabytes: its process ends, this one hardly notices', async () => {
    const huge = docx(`<w:p><w:r><w:t>${'x'.repeat(150_000_000)}</w:t></w:r></w:p>`);
    const bomb = archive(huge);
    expect(bomb.length).toBeLessThan(1_000_000);
    const before = process.memoryUsage.rss();
    expect(await extract('docx', bomb, { timeout_ms: 20_000, memory_mb: 200 })).toEqual(tooMuch);
    expect(process.memoryUsage.rss() - before).toBeLessThan(100_000_000);
  });

  it('a spreadsheet that says that it unpacks to too much: refused before', async () => {
    const sheet = strToU8('<worksheet/>');
    const bytes = Buffer.from(zipSync({ 'xl/worksheets/sheet1.xml': sheet }));
    // The size after unpacking, in the central directory.
    bytes.writeUInt32LE(2_000_000_000, bytes.indexOf('PK\u0001\u0002', 'latin1') + 24);
    expect(await extract('xlsx', bytes)).toMatchObject({ error: 'the document unpacks to too much' });
  });

  it('a PDF whose page unpacks to hundreds of megabytes: failed or empty, within bounds', async () => {
    const bomb = pdf('', deflateSync(Buffer.alloc(400_000_000, ' ')));
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
    expect(await extract('plain', 'x', { timeout_ms: 1, memory_mb: 200 })).toEqual(tooMuch);
  });

  it('the scheduler stops: the attempt is given up, to be made again', async () => {
    const stop = new AbortController();
    const attempt = extractText('plain', Readable.from(['x']), stop.signal);
    stop.abort(new Error('stopping'));
    await expect(attempt).rejects.toThrow('stopping');
  });

  it('the store breaks off in the middle: an error, to be tried again', async () => {
    const source = new Readable({
      read() {
        this.destroy(new Error('the store went away'));
      },
    });
    await expect(extractText('plain', source, never)).rejects.toThrow('the store went away');
  });

  it('raw garbage in a well-formed archive: failed', async () => {
    const garbage = deflateRawSync(Buffer.from('<w:document'));
    expect(await extract('docx', garbage)).toMatchObject({ status: 'failed' });
  });
});

import { openArchive, readXml } from './office.ts';
import type { TextSink } from './text-sink.ts';

const MAIN = 'word/document.xml';

/** The paragraphs of the document's body, with those of its tables and text boxes. */
export async function extractDocx(bytes: Buffer, sink: TextSink): Promise<void> {
  const open = (await openArchive(bytes, /^word\/document\.xml$/)).get(MAIN);
  if (open === undefined) throw new Error('not a text document');
  let inText = false;
  // A text box occurs twice: once more in a `Fallback`, for old readers.
  let fallbacks = 0;
  await readXml(open(), {
    open: (name) => {
      if (name === 'Fallback') fallbacks += 1;
      else if (name === 't') inText = fallbacks === 0;
      else if (name === 'tab') sink.separate('\t');
      else if (name === 'br' || name === 'cr') sink.separate('\n');
    },
    text: (part) => {
      if (inText) sink.write(part);
    },
    close: (name) => {
      if (name === 'Fallback') fallbacks -= 1;
      else if (name === 't') inText = false;
      else if (name === 'p') sink.separate('\n\n');
    },
  });
}

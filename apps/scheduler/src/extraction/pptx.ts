import { byNumber, openArchive, readXml } from './office.ts';
import type { TextSink } from './text-sink.ts';

/** The text of the slides in order, one line per paragraph, each slide followed by its speaker notes. */
export async function extractPptx(bytes: Buffer, sink: TextSink): Promise<void> {
  const archive = await openArchive(bytes, /^ppt\/(?:slides\/slide|notesSlides\/notesSlide)\d+\.xml$/);
  const slides = byNumber([...archive.keys()].filter((name) => name.startsWith('ppt/slides/')));
  if (slides.length === 0) throw new Error('not a presentation');
  for (const slide of slides) {
    for (const name of [slide, slide.replace('slides/slide', 'notesSlides/notesSlide')]) {
      const open = archive.get(name);
      if (open !== undefined) await paragraphs(open(), sink);
    }
    sink.separate('\n\n');
  }
}

async function paragraphs(xml: AsyncIterable<Buffer>, sink: TextSink): Promise<void> {
  let inText = false;
  await readXml(xml, {
    open: (name) => {
      if (name === 't') inText = true;
      else if (name === 'br') sink.separate('\n');
    },
    text: (part) => {
      if (inText) sink.write(part);
    },
    close: (name) => {
      if (name === 't') inText = false;
      else if (name === 'p') sink.separate('\n');
    },
  });
}

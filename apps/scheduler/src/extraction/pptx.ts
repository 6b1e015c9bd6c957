import { type Archive, byNumber, listedIn, openArchive, readXml, relationsOf } from './office.ts';
import type { TextSink } from './text-sink.ts';

const PARTS =
  /^ppt\/(?:(?:presentation|slides\/slide\d+|notesSlides\/notesSlide\d+)\.xml|(?:_rels\/presentation|slides\/_rels\/slide\d+)\.xml\.rels)$/;

/** The text of the slides in order, one line per paragraph, each slide followed by its speaker notes. */
export async function extractPptx(bytes: Buffer, sink: TextSink): Promise<void> {
  const archive = await openArchive(bytes, PARTS);
  const slides = await slidesOf(archive);
  if (slides.length === 0) throw new Error('not a presentation');
  for (const slide of slides) {
    for (const name of [slide, await notesOf(archive, slide)]) {
      const open = name === undefined ? undefined : archive.get(name);
      if (open !== undefined) await paragraphs(open(), sink);
    }
    sink.separate('\n\n');
  }
}

/** As they are shown; those that the presentation does not list come last. */
async function slidesOf(archive: Archive): Promise<string[]> {
  const all = byNumber([...archive.keys()].filter((name) => /^ppt\/slides\/[^/]+$/.test(name)));
  const known = new Set(all);
  const listed = await listedIn(archive, 'ppt/presentation.xml', 'sldId');
  const shown = listed.flatMap(({ part }) => (part !== undefined && known.has(part) ? [part] : []));
  return [...new Set([...shown, ...all])];
}

async function notesOf(archive: Archive, slide: string): Promise<string | undefined> {
  const relations = await relationsOf(archive, slide);
  if (relations === undefined) return slide.replace('slides/slide', 'notesSlides/notesSlide');
  return [...relations.values()].find(({ type }) => type.endsWith('/notesSlide'))?.part;
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

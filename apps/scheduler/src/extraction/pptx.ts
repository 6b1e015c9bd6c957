import { byNumber, openArchive, readXml } from './office.ts';

/** The text of the slides in order, a line for each paragraph, with the speaker's notes after each slide. */
export function extractPptx(bytes: Buffer): string {
  const archive = openArchive(bytes, /^ppt\/(?:slides\/slide|notesSlides\/notesSlide)\d+\.xml$/);
  const slides = byNumber(Object.keys(archive).filter((name) => name.startsWith('ppt/slides/')));
  if (slides.length === 0) throw new Error('not a presentation');
  return slides
    .map((name) => {
      const notes = archive[name.replace('slides/slide', 'notesSlides/notesSlide')];
      return [paragraphs(archive[name]!), notes === undefined ? '' : paragraphs(notes)]
        .filter((part) => part !== '')
        .join('\n');
    })
    .join('\n\n');
}

function paragraphs(xml: string): string {
  let text = '';
  let inText = false;
  readXml(xml, {
    open: (name) => {
      if (name === 't') inText = true;
      else if (name === 'br') text += '\n';
    },
    text: (part) => {
      if (inText) text += part;
    },
    close: (name) => {
      if (name === 't') inText = false;
      else if (name === 'p') text += '\n';
    },
  });
  return text.replaceAll(/\n{2,}/g, '\n').trim();
}

import { Parser } from 'htmlparser2';

const silent = new Set(['script', 'style', 'template', 'noscript', 'svg', 'iframe', 'object']);
const inline = new Set(
  'a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q s samp small span strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

/** What a reader of the page would see, its title first, a line for each block; scripts and styles are left out. */
export function extractHtml(html: string): string {
  let text = '';
  let silence = 0;
  const parser = new Parser({
    onopentagname(name) {
      if (silent.has(name)) silence += 1;
      else if (name === 'td' || name === 'th') text += '\t';
      else if (!inline.has(name)) text += '\n';
    },
    onclosetag(name) {
      if (silent.has(name)) silence -= 1;
      else if (!inline.has(name) && name !== 'td' && name !== 'th') text += '\n';
    },
    ontext(data) {
      if (silence === 0) text += data.replaceAll(/\s+/g, ' ');
    },
  });
  parser.end(html);
  return text
    .split('\n')
    .map((line) =>
      line
        .replaceAll(/ *\t */g, '\t')
        .replaceAll(/ {2,}/g, ' ')
        .trim(),
    )
    .filter((line, index, lines) => line !== '' || lines[index - 1] !== '')
    .join('\n')
    .replaceAll(/\n{2,}/g, '\n');
}

import { Parser } from 'htmlparser2';
import type { TextSink } from './text-sink.ts';

const silent = new Set(['script', 'style', 'template', 'noscript', 'svg', 'iframe', 'object']);
const inline = new Set(
  'a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q s samp small span strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

/** What a reader of the page would see: first its title, then a line per block, without scripts and styles. */
export async function extractHtml(html: AsyncIterable<string>, sink: TextSink): Promise<void> {
  let silence = 0;
  const parser = new Parser({
    onopentagname(name) {
      if (silent.has(name)) silence += 1;
      else if (name === 'td' || name === 'th') sink.separate('\t');
      else if (!inline.has(name)) sink.separate('\n');
    },
    onclosetag(name) {
      if (silent.has(name)) silence -= 1;
      else if (!inline.has(name) && name !== 'td' && name !== 'th') sink.separate('\n');
    },
    ontext(data) {
      if (silence === 0) sink.writeWords(data);
    },
  });
  for await (const part of html) parser.write(part);
  parser.end();
}

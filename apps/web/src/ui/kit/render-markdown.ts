/**
 * Renders Markdown written by people and agents as inert HTML. Raw HTML is not passed through, and markdown-it's output is
 * sanitised as well: two independent barriers, with the page's policy as the third.
 *
 * Some texts take five milliseconds per kilobyte: callers with long ones render them off the event loop
 * (markdown-renderer.ts).
 */
import MarkdownIt from 'markdown-it';
import sanitize from 'sanitize-html';
import { highlight, references, taskLists } from './markdown-rules.ts';
import type { Html } from './html.ts';

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false })
  .use(taskLists)
  .use(references);

/** Where files that were attached are read. */
const STORED = /^\/api\/(?:chats\/[\da-f-]{36}\/)?attachments\/[\da-f-]{36}\/download$/i;

/**
 * Images are asked for in the name of whoever reads the text: of our own paths, only files are. Any other path may be expensive or
 * have a meaning, and a reader asking for hundreds of them would be refused as one who asks too much.
 */
function image(tagName: string, { src = '', ...rest }: sanitize.Attributes): sanitize.Tag {
  const isShown = STORED.test(src) || src.startsWith('data:');
  return { tagName, attribs: isShown ? { src, loading: 'lazy', ...rest } : rest };
}

function aligned(tagName: string, { style = '' }: sanitize.Attributes): sanitize.Tag {
  const side = /^text-align:(left|right|center)$/.exec(style)?.[1];
  return { tagName, attribs: side === undefined ? {} : { class: `align-${side}` } };
}

const options: sanitize.IOptions = {
  // Separated by spaces: a list of thirty lines would be no easier to read.
  allowedTags:
    'p br hr h1 h2 h3 h4 h5 h6 blockquote ul ol li pre code strong em s a table thead tbody tr th td img span input'.split(
      ' ',
    ),
  allowedAttributes: {
    a: ['href', 'title', 'rel', 'class'],
    img: ['src', 'alt', 'title', 'loading'],
    ol: ['start'],
    code: ['class'],
    span: ['class'],
    li: ['class'],
    input: ['type', 'checked', 'disabled', 'aria-label'],
    th: ['class'],
    td: ['class'],
  },
  allowedClasses: {
    a: ['ref'],
    code: [/^language-[\w-]{1,40}$/],
    li: ['task'],
    span: [/^(?:hljs-[\w-]{1,40}|function_|class_|language_|inherited__|constant_|invoke__|escape_)$/],
    th: [/^align-(?:left|right|center)$/],
    td: [/^align-(?:left|right|center)$/],
  },
  allowedSchemes: ['http', 'https', 'mailto'],
  // Images from other hosts would reveal who reads; the page's policy blocks them too.
  allowedSchemesByTag: { img: ['data'] },
  allowProtocolRelative: false,
  transformTags: {
    a: sanitize.simpleTransform('a', { rel: 'noopener noreferrer nofollow' }),
    img: image,
    // The page's policy blocks inline styles: a column's alignment is a class.
    th: aligned,
    td: aligned,
  },
};

/** @param colour highlights code; the default takes any time */
export function renderMarkdown(text: string, colour = highlight): Html {
  return `<div class="markdown">${sanitize(parser.set({ highlight: colour }).render(text), options)}</div>`;
}

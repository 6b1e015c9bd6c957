/**
 * Markdown that people and agents wrote, as HTML that can do nothing but be read. Raw HTML is not passed on, and what
 * markdown-it makes is sanitised once more: two independent walls, and the page's policy as the third.
 *
 * Some texts take five milliseconds a kilobyte: whoever has long ones rendered does it off the loop
 * (markdown-renderer.ts).
 */
import MarkdownIt from 'markdown-it';
import sanitize from 'sanitize-html';
import { highlight, references, taskLists } from './markdown-rules.ts';
import type { Html } from './html.ts';

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false, highlight })
  .use(taskLists)
  .use(references);

function aligned(tagName: string, { style = '' }: sanitize.Attributes): sanitize.Tag {
  const side = /^text-align:(left|right|center)$/.exec(style)?.[1];
  return { tagName, attribs: side === undefined ? {} : { class: `align-${side}` } };
}

const options: sanitize.IOptions = {
  // Words by a space: a list of thirty lines would be no easier to read.
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
  // Pictures of other hosts would tell them who reads; the page's policy refuses them too.
  allowedSchemesByTag: { img: ['data'] },
  allowProtocolRelative: false,
  transformTags: {
    a: sanitize.simpleTransform('a', { rel: 'noopener noreferrer nofollow' }),
    // Styles are refused by the page's policy: the side that a column stands on is a class.
    th: aligned,
    td: aligned,
  },
};

export function renderMarkdown(text: string): Html {
  return `<div class="markdown">${sanitize(parser.render(text), options)}</div>`;
}

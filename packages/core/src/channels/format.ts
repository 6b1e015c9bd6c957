/** Converts Markdown to Telegram's HTML and Slack's mrkdwn, in pieces of acceptable length. Pure. */
import { createRequire } from 'node:module';
import type { ChannelKind } from '@acp/contract';
import type MarkdownIt from 'markdown-it';

type Parser = InstanceType<typeof MarkdownIt>;
type Token = ReturnType<Parser['parse']>[number];

/** A piece as sent, and the same without markup in case the vendor rejects it. */
export interface Piece {
  text: string;
  plain: string;
}

interface Dialect {
  escape: (text: string) => string;
  strong: readonly [string, string];
  em: readonly [string, string];
  s: readonly [string, string];
  code: readonly [string, string];
  pre: readonly [string, string];
  link(href: string): readonly [string, string];
  /** Maximum length of a piece's Markdown source and of its rendered text; in UTF-16 units. */
  longest: { source: number; made: number };
}

const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const dialects: Record<ChannelKind, Dialect> = {
  // Telegram's limit of 4,096 applies after the markup is removed.
  telegram: {
    escape: escapeMarkup,
    strong: ['<b>', '</b>'],
    em: ['<i>', '</i>'],
    s: ['<s>', '</s>'],
    code: ['<code>', '</code>'],
    pre: ['<pre>', '</pre>'],
    link: (href) => [`<a href="${escapeMarkup(href).replaceAll('"', '&quot;')}">`, '</a>'],
    longest: { source: 3800, made: 12_000 },
  },
  // Escaped, so that nothing becomes a mention, a channel or a broadcast. Slack's limit is 40,000, but 4,000 for edits.
  slack: {
    escape: escapeMarkup,
    strong: ['*', '*'],
    em: ['_', '_'],
    s: ['~', '~'],
    code: ['`', '`'],
    pre: ['```\n', '\n```'],
    link: (href) => [`<${escapeMarkup(href).replaceAll('|', '%7C')}|`, '>'],
    longest: { source: 3500, made: 3950 },
  },
};

/** Longer texts are cut; the service shows all of it. */
const MOST_PIECES = 10;
const SAFE_LINK = /^(https?:\/\/|mailto:)/i;

const require = createRequire(import.meta.url);
let made: Parser | undefined;

/** Loaded with the first message: a megabyte that an instance without channels never needs. */
function parser(): Parser {
  if (made === undefined) {
    const Made = require('markdown-it') as typeof MarkdownIt;
    made = new Made({ html: false, linkify: false, breaks: true });
  }
  return made;
}

/** @param rest Markdown appended to a text that is cut */
export function piecesOf(kind: ChannelKind, markdown: string, rest: string): Piece[] {
  const { longest } = dialects[kind];
  const sources = splitMarkdown(markdown.trim(), longest.source, MOST_PIECES + 1);
  const kept = sources.length <= MOST_PIECES ? sources : [...sources.slice(0, MOST_PIECES), rest];
  return kept.flatMap((source) => madeOf(kind, source));
}

/** Escaping can turn one character into five: pieces that became too long are split again. */
function madeOf(kind: ChannelKind, source: string): Piece[] {
  const dialect = dialects[kind];
  const text = render(dialect, source);
  if (text.trim() === '')
    return source.trim() === '' ? [] : [{ text: dialect.escape(source), plain: source }];
  if (text.length <= dialect.longest.made || source.length < 200) return [{ text, plain: source }];
  return splitMarkdown(source, Math.ceil(source.length / 2)).flatMap((half) => madeOf(kind, half));
}

/** Splits between paragraphs, lines or words; a code block that is cut is closed and reopened. @param most pieces, the rest is left */
export function splitMarkdown(markdown: string, longest: number, most = Infinity): string[] {
  const pieces: string[] = [];
  const keep = (piece: string): void => {
    if (piece.trim() !== '') pieces.push(piece);
  };
  let [reopened, at] = ['', 0];
  while (reopened.length + markdown.length - at > longest && pieces.length < most) {
    const text = reopened + markdown.slice(at, at + longest);
    const cut = placeToCut(text, longest);
    const head = text.slice(0, cut);
    at += cut - reopened.length;
    while (markdown[at] === '\n') at += 1;
    const fence = openFence(head, longest / 4);
    keep(fence === null ? head.trimEnd() : `${head.trimEnd()}\n${fence.mark}`);
    reopened = fence === null ? '' : `${fence.line}\n`;
  }
  if (pieces.length < most) keep(reopened + markdown.slice(at));
  return pieces;
}

/** Space reserved for closing a code block at the end of a piece. */
const ROOM = 20;

function placeToCut(text: string, longest: number): number {
  const window = text.slice(0, longest - ROOM);
  for (const mark of ['\n\n', '\n', ' ']) {
    const at = window.lastIndexOf(mark);
    if (at > window.length / 2) return at;
  }
  // Don't split a surrogate pair.
  return /[\uD800-\uDBFF]$/.test(window) ? window.length - 1 : window.length;
}

const LONGEST_FENCE_LINE = 60;

/** @param longest of its line: the next cut comes after it, or there would be no end */
function openFence(text: string, longest: number): { mark: string; line: string } | null {
  let open: { mark: string; line: string } | null = null;
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,8}|~{3,8})/.exec(line)?.[1];
    if (mark === undefined) continue;
    if (open === null) open = { mark, line: line.trim().slice(0, Math.min(LONGEST_FENCE_LINE, longest)) };
    else if (mark.startsWith(open.mark)) open = null;
  }
  return open;
}

function render(dialect: Dialect, source: string): string {
  const blocks: string[] = [];
  const lists: { next: number | null }[] = [];
  let quotes = 0;
  let marker = '';
  let row: string[] | null = null;
  const put = (text: string): void => {
    const lead = '&gt; '.repeat(quotes);
    const indent = '   '.repeat(Math.max(0, lists.length - 1));
    const lines = `${marker}${text}`
      .split('\n')
      .map((line, at) => `${lead}${indent}${at > 0 && marker !== '' ? '  ' : ''}${line}`);
    // No blank lines between list items.
    const close = lists.length > 0 && blocks.length > 0 ? '' : '\n';
    blocks.push(`${blocks.length === 0 ? '' : close}${lines.join('\n')}`);
    marker = '';
  };
  const tokens = parser().parse(source, {});
  for (const [at, token] of tokens.entries()) {
    const { type } = token;
    if (type === 'bullet_list_open') lists.push({ next: null });
    else if (type === 'ordered_list_open') lists.push({ next: Number(token.attrGet('start') ?? 1) });
    else if (type === 'bullet_list_close' || type === 'ordered_list_close') lists.pop();
    else if (type === 'list_item_open') marker = markerOf(lists.at(-1));
    else if (type === 'blockquote_open') quotes += 1;
    else if (type === 'blockquote_close') quotes -= 1;
    else if (type === 'fence' || type === 'code_block') put(preOf(dialect, token.content));
    else if (type === 'hr') put('———');
    else if (type === 'tr_open') row = [];
    else if (type === 'tr_close') {
      put((row ?? []).join(' | '));
      row = null;
    } else if (type === 'inline') {
      const heading = tokens[at - 1]?.type === 'heading_open';
      const text = inline(dialect, token.children ?? [], heading);
      if (row === null) put(heading ? dialect.strong.join(text) : text);
      else row.push(text);
    }
  }
  return blocks.join('\n');
}

function markerOf(list: { next: number | null } | undefined): string {
  if (list === undefined || list.next === null) return '• ';
  list.next += 1;
  return `${list.next - 1}. `;
}

const preOf = ({ pre, escape }: Dialect, code: string): string =>
  pre.join(escape(code.replace(/\n$/, '').replaceAll('```', "'''")));

function inline(dialect: Dialect, tokens: readonly Token[], heading: boolean): string {
  const links: string[] = [];
  let text = '';
  for (const token of tokens) {
    const [, name = '', edge = ''] = /^(strong|em|s)_(open|close)$/.exec(token.type) ?? [];
    if (name === 'strong' && heading) continue;
    if (name !== '') text += dialect[name as 'strong' | 'em' | 's'][edge === 'open' ? 0 : 1];
    else if (token.type === 'code_inline') text += dialect.code.join(dialect.escape(token.content));
    else if (token.type === 'softbreak' || token.type === 'hardbreak') text += '\n';
    else if (token.type === 'link_open') {
      const href = String(token.attrGet('href') ?? '');
      const [open, close] = SAFE_LINK.test(href) ? dialect.link(href) : ['', ''];
      text += open;
      links.push(close);
    } else if (token.type === 'link_close') text += links.pop() ?? '';
    // Images are not embedded: fetching one would leak the text to its host.
    else text += dialect.escape(token.content);
  }
  return text;
}

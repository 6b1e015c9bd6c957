/** GitHub's additions to markdown-it's Markdown: task lists, highlighted code; and names of issues and agents. */
import { createRequire } from 'node:module';
import type MarkdownItClass from 'markdown-it';

type MarkdownIt = InstanceType<typeof MarkdownItClass>;
type Token = ReturnType<MarkdownIt['parse']>[number];

/** The part of highlight.js that is used; its own types would pull the browser's types into this package. */
interface Highlighter {
  getLanguage(name: string): object | undefined;
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { value: string };
}

const require = createRequire(import.meta.url);
let known: Highlighter | undefined;
/** Loaded when code names its language for the first time: most texts have none, and thirty grammars are slow to load. */
const languages = (): Highlighter => (known ??= require('highlight.js/lib/common') as Highlighter);

/** A longer block is not highlighted: some grammars are slow on text that is no code. */
const LONGEST_CODE = 20_000;

export const hasGrammar = (language: string): boolean =>
  language !== '' && languages().getLanguage(language) !== undefined;

/** Highlights code in the given language. Classes only: the page's policy allows no inline styles. */
export function highlight(code: string, language: string): string {
  if (code.length > LONGEST_CODE || !hasGrammar(language)) return '';
  return languages().highlight(code, { language, ignoreIllegals: true }).value;
}

/** `- [ ] to do`, `- [x] done`: a read-only checkbox. */
export function taskLists(parser: MarkdownIt): void {
  parser.core.ruler.after('inline', 'task_lists', ({ tokens, Token: Made }) => {
    for (const [at, token] of tokens.entries()) {
      const [item, paragraph] = [tokens[at - 2], tokens[at - 1]];
      if (
        token.type !== 'inline' ||
        !token.content.startsWith('[') ||
        paragraph?.type !== 'paragraph_open' ||
        item?.type !== 'list_item_open'
      )
        continue;
      const [first] = token.children ?? [];
      const box = /^\[([ xX])\]\s/.exec(first?.content ?? '');
      if (!first || first.type !== 'text' || !box) continue;
      first.content = first.content.slice(box[0].length);
      const input = new Made('html_inline', '', 0);
      const state = box[1] === ' ' ? 'aria-label="to do"' : 'aria-label="done" checked';
      input.content = `<input type="checkbox" disabled ${state}> `;
      token.children!.unshift(input);
      item.attrJoin('class', 'task');
    }
  });
}

const REFERENCE =
  /(?<![\p{L}\p{N}_/@.-])(?:@[\p{L}\p{N}_][\p{L}\p{N}_-]{0,100}|[\p{Lu}\p{N}]{1,10}-\d{1,9})(?![\p{L}\p{N}_-])/gu;

/**
 * Turns `ABC-12` and `@Ada` into links with a class that no author can produce. Which of them exist in the company is
 * resolved once the page is known (references.ts).
 */
export function references(parser: MarkdownIt): void {
  parser.core.ruler.after('linkify', 'references', ({ tokens, Token: Made }) => {
    for (const token of tokens) {
      // Most texts name nothing.
      if (token.type !== 'inline' || !token.children || !/[@-]/.test(token.content)) continue;
      let inside = 0;
      token.children = token.children.flatMap((child) => {
        inside += child.type === 'link_open' ? 1 : child.type === 'link_close' ? -1 : 0;
        return child.type === 'text' && inside === 0 ? split(child, Made) : [child];
      });
    }
  });
}

function split(text: Token, Made: new (type: string, tag: string, nesting: -1 | 0 | 1) => Token): Token[] {
  const parts: Token[] = [];
  let from = 0;
  const plain = (content: string): void => {
    if (content !== '') parts.push(Object.assign(new Made('text', '', 0), { content }));
  };
  for (const match of text.content.matchAll(REFERENCE)) {
    plain(text.content.slice(from, match.index));
    const open = new Made('link_open', 'a', 1);
    open.attrs = [
      ['class', 'ref'],
      ['href', `/refs/${encodeURIComponent(match[0])}`],
    ];
    parts.push(
      open,
      Object.assign(new Made('text', '', 0), { content: match[0] }),
      new Made('link_close', 'a', -1),
    );
    from = match.index + match[0].length;
  }
  if (from === 0) return [text];
  plain(text.content.slice(from));
  return parts;
}

/** Tables defined by columns: each cell knows its heading, so that rows become cards on a phone. */
import { count } from './format.ts';
import { attributes, each, html, type Html, when } from './html.ts';
import { say, t } from './language.ts';

export interface Column<T> {
  label: string;
  cell: (row: T) => Html;
  /** Numbers are right-aligned; the heading of actions is hidden. */
  kind?: 'number' | 'acts';
  /**
   * On a phone, a cell is a line of its own: its label, and opposite its content. `plain` and `named` ones share lines with
   * their neighbours, without a label and after it; a `text` needs no label either, but lines of its own.
   */
  phone?: 'plain' | 'named' | 'text';
  /** Link that sorts by the column; `order` if the list is sorted by it already. */
  sort?: { href: string; order: 'ascending' | 'descending' | null };
  /** Replaces the label in the heading. */
  head?: () => Html;
}

/**
 * @param label what the table lists, for screen readers
 * @param options.narrow fits a phone as it is: names and a few figures
 */
export function table<T>(
  label: string,
  columns: readonly Column<T>[],
  rows: readonly T[],
  { narrow = false, row: rowAttributes }: { narrow?: boolean; row?: (row: T) => Html } = {},
): Html {
  return html`<table !${attributes({ class: narrow ? null : 'stacks' })} aria-label="${say(label)}">
    <thead>
      <tr>
        !${each(columns, heading)}
      </tr>
    </thead>
    <tbody>
      !${each(rows, (row) => tableRow(columns, row, rowAttributes))}
    </tbody>
  </table>`;
}

/** A single row, for lists whose rows refresh themselves. */
export function tableRow<T>(columns: readonly Column<T>[], row: T, attributesOf?: (row: T) => Html): Html {
  return html`<tr !${attributesOf?.(row) ?? ''}>
    !${each(columns, (column) => cellOf(column, row))}
  </tr>`;
}

function heading<T>({ label, kind, sort, head }: Column<T>): Html {
  if (head !== undefined) return html`<th>!${head()}</th>`;
  if (sort !== undefined)
    return html`<th !${attributes({ class: kind ?? null, 'aria-sort': sort.order })}>
      <a class="sort" href="${sort.href}">${say(label)}</a>
    </th>`;
  if (kind === 'acts') return html`<th><span class="sr-only">${say(label)}</span></th>`;
  return html`<th !${attributes({ class: kind ?? null })}>${say(label)}</th>`;
}

function cellOf<T>({ label, kind, phone, cell }: Column<T>, row: T): Html {
  const named = attributes({
    class: kind ?? null,
    'data-label': kind === 'acts' ? null : say(label),
    'data-phone': phone,
  });
  return html`<td !${named}>!${when(cell(row).trim(), (content) => `<div>${breakable(content)}</div>`)}</td>`;
}

/** Letters of a word that is longer than any ordinary word, address or number. */
const LONG = 28;
/** Whatever precedes a tag's end is no text, and what these elements contain is not HTML. */
const NOT_TEXT = /<(select|textarea|svg)\b[\s\S]*?<\/\1>|<[^>]*>/g;

/** Marks the words of HTML that may be broken anywhere, so that the others stay whole. */
function breakable(content: Html): Html {
  if (content.length < LONG) return content;
  let marked = '';
  let at = 0;
  for (const { 0: tag, index } of content.matchAll(NOT_TEXT)) {
    marked += markLong(content.slice(at, index)) + tag;
    at = index + tag.length;
  }
  return marked + markLong(content.slice(at));
}

/** A word without a place to break; an escaped character is one letter of it. */
const markLong = (text: string): string =>
  text.replaceAll(/[^\s-]+/g, (word) =>
    word.length < LONG || word.replaceAll(/&[#\w]+;/g, '&').length < LONG
      ? word
      : `<span class="long">${word}</span>`,
  );

const PAGE = 50;

/** The page of a list that the query asks for. */
export function pageOf({ cursor }: Readonly<Record<string, string>>): { limit: number; cursor?: string } {
  return cursor ? { limit: PAGE, cursor } : { limit: PAGE };
}

/** Link to the next page of a list; empty on the last one. @param name of the cursor in the address, for one list of several */
export function moreLink(path: string, cursor: string | null, label: string, name = 'cursor'): Html {
  if (cursor === null) return '';
  return html`<p class="more">
    <a href="${withCursor(path, cursor, name)}">${say(label)}</a>
  </p>`;
}

/** Of a list that is read as a whole, such as sums: as many rows as people look through. */
const FIRST = 100;

/** The first rows, unless all are wanted, as `all=yes` says; `allLink` offers the others. */
export function firstRows<T>(rows: readonly T[], { all }: Readonly<Record<string, string>>): readonly T[] {
  return all === 'yes' ? rows : rows.slice(0, FIRST);
}

/** @param path of the page, without its query */
export function allLink(
  path: string,
  query: Readonly<Record<string, string>>,
  rows: readonly unknown[],
): Html {
  if (query.all === 'yes' || rows.length <= FIRST) return '';
  const all = new URLSearchParams({ ...query, all: 'yes' });
  return html`<p class="more">
    <a href="${path}?${all.toString()}">${t`Show all ${count(rows.length)}`}</a>
  </p>`;
}

/** Address of the page of a list that the query asks for: a part that refreshes itself stays on that page. */
export function samePage(path: string, { cursor }: Readonly<Record<string, string>>): string {
  return cursor ? withCursor(path, cursor) : path;
}

function withCursor(path: string, cursor: string, name = 'cursor'): string {
  return `${path}${path.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(cursor)}`;
}

/** Searching a list by name. The words are in the address, so they outlive paging, live updates, reloading and sharing. */
import type { FormValues } from './form-values.ts';
import { attributes, each, html, type Html } from './html.ts';
import { t } from './language.ts';
import { emptyState, input } from './parts.ts';
import { pageOf } from './table.ts';

type Query = Readonly<Record<string, string>>;

/** Shorter lists are read faster than searched. */
const WORTH_SEARCHING = 10;

/** What the list is searched for; empty: it is not. */
const soughtIn = ({ q }: Query): string => q?.replaceAll('\0', '').trim().slice(0, 200) ?? '';

/** The page of a list that the query asks for, with the words to search for. */
export function searchOf(query: Query): { limit: number; cursor?: string; q?: string } {
  const q = soughtIn(query);
  return q === '' ? pageOf(query) : { ...pageOf(query), q };
}

/** Address of a list, searched as the query says: for links to its other pages and filters, and for the parts that refresh. */
export function searched(path: string, query: Query): string {
  const q = soughtIn(query);
  return q === '' ? path : `${path}${path.includes('?') ? '&' : '?'}q=${encodeURIComponent(q)}`;
}

/** Fields by which the form of a row leads back to the same list. @param filter name of the list's filter in its address */
export const listFields = (query: Query, filter: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ q: soughtIn(query), [filter]: query[filter] ?? '' }).filter(([, value]) => value !== ''),
  );

/** The address of the list that such a form was on, which then says what was done. */
export function listAfter(path: string, form: FormValues, done: string): string {
  const list = searched(path, { q: form.text('q') });
  return `${list}${list.includes('?') ? '&' : '?'}done=${done}`;
}

/**
 * What the filters above it leave: the script replaces it while somebody types into them, and so it does with tabs that keep
 * the filter in their addresses.
 */
export const filtered = (list: Html): Html => html`<div data-filtered>!${list}</div>`;

/**
 * A list with a search field, if it is long enough for one. The field is outside of a part that refreshes itself.
 * @param path of the list with its other filters, which the search keeps
 * @param list what is shown of it
 * @param worth entries from which on there is a field: fewer if it finds more than names
 */
export function searchedList(
  path: string,
  query: Query,
  { items, next_cursor }: { items: readonly unknown[]; next_cursor: string | null },
  list: Html,
  worth = WORTH_SEARCHING,
): Html {
  const q = soughtIn(query);
  const isShort = next_cursor === null && !query.cursor && items.length < worth;
  if (q === '' && isShort) return list;
  const [action, filters] = path.split('?', 2);
  return html`<form class="filters row" method="get" action="${action}" role="search" data-autosubmit>
      !${input({ name: 'q', label: 'Search', type: 'search', value: q })}
      !${each([...new URLSearchParams(filters)], ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      <button class="quiet">Search</button>
    </form>
    !${filtered(list)}`;
}

/** Stands in for a list without entries: that nothing matches, with the way back, or what the page says of an empty list. */
export function nothingListed(path: string, query: Query, empty: () => Html): Html {
  const q = soughtIn(query);
  if (q === '') return empty();
  return emptyState(t`Nothing matches “${q}”`, html`<a href="${path}">Show everything again</a>`);
}

/**
 * Ahead of all filters but the first: on a phone, unfolds them. The style sheet reads its state, as the menu's.
 * @param chosen whether one of them is set: they are unfolded then
 */
export const moreFilters = (chosen: boolean): Html =>
  html`<details class="more-filters" !${attributes({ open: chosen })}>
    <summary>Filters</summary>
  </details>`;

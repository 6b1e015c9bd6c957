import type { SavedView, ViewFilter } from '@acp/contract';
import { type BoardColumn, MOST_COUNTED } from '@acp/core';
import { countUpTo, words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { currentLocale } from '../kit/language.ts';
import { filtered } from '../kit/list-search.ts';
import { emptyState } from '../kit/parts.ts';
import { card } from './card.ts';
import { type Choices, filterForm, viewTabs } from './filter-form.ts';
import { type AskedFilter, narrows, pathWith, queryOf } from './issue-filter.ts';

interface BoardView {
  company_id: string;
  columns: readonly BoardColumn[];
  filter: ViewFilter;
  asked: AskedFilter;
  choices: Choices;
  views: readonly SavedView[];
  can_write: boolean;
  /** Notice of what was done. */
  said: Html;
}

export function boardActions(company_id: string): Html {
  return html`<a class="button" href="/companies/${company_id}/issues/new">New issue</a>`;
}

export function boardBody(view: BoardView): Html {
  const { company_id } = view;
  const here = `/companies/${company_id}/board`;
  return html`!${view.said}!${viewTabs({ ...view, layout: 'board' })}!${filterForm(here, 'board', view.asked, view.choices)}
  !${filtered(columnsOf(view))}`;
}

function columnsOf(view: BoardView): Html {
  const { company_id, columns, filter } = view;
  return html`!${when(
      columns.every(({ count }) => count === 0),
      () => nothing(view),
    )}
    <p class="sr-only" id="board-help">!${view.can_write ? howToMove() : howToRead()}</p>
    <p class="sr-only" role="status" aria-live="polite" id="board-said"></p>
    <div
      class="board"
      data-board="${company_id}"
      data-most="${MOST_COUNTED}"
      data-filter="${queryOf(filter)}"
      aria-describedby="board-help"
    >
      !${each(columns, (column) => boardColumn(column, view))}
    </div>`;
}

const howToMove = (): Html =>
  html`Arrow keys move between cards. Shift with left or right moves a card to the next column. Enter opens
  it.`;

const howToRead = (): Html => html`Arrow keys move between cards. Enter opens the card.`;

function nothing({ company_id, filter, can_write }: BoardView): Html {
  if (narrows(filter))
    return emptyState(
      'Nothing matches',
      html`No issues match. <a href="/companies/${company_id}/board?all=yes">Show all</a>`,
    );
  if (!can_write) return emptyState('No issues yet', html`Members of the company write them.`);
  return emptyState(
    'No issues yet',
    html`<a href="/companies/${company_id}/issues/new">Write the first one</a> and give it to an agent: it
      starts right away.`,
  );
}

/** Columns that every run moves issues to: they keep their width, since the others would jump with the first card. */
const busy: readonly string[] = ['todo', 'in_progress', 'done'];

/** Other empty columns are narrow, which leaves room for those with cards. */
function boardColumn(column: BoardColumn, view: BoardView): Html {
  const { status, count } = column;
  return html`<section
    class="board-column"
    data-column="${status}"
    aria-label="${words(status)}"
    !${attributes({ 'data-empty': count === 0 && !busy.includes(status) })}
  >
    <h2>
      ${asHeading(words(status))}
      <span class="soft" data-count="${count}">${countUpTo(MOST_COUNTED, count)}</span>
    </h2>
    <div class="cards">!${columnCards(column, view)}</div>
  </section>`;
}

const asHeading = (text: string): string => text.charAt(0).toLocaleUpperCase(currentLocale()) + text.slice(1);

/** Cards and a link to more of them: the script follows it on scrolling into view; without script it leads to the list. */
export function columnCards(
  { status, cards, next_cursor }: Pick<BoardColumn, 'status' | 'cards' | 'next_cursor'>,
  { company_id, filter, can_write }: Pick<BoardView, 'company_id' | 'filter' | 'can_write'>,
): Html {
  const list = pathWith(`/companies/${company_id}/issues`, {
    ...filter,
    status: [status],
    sort: 'updated_at',
  });
  const source = (cursor: string): string =>
    pathWith(`/companies/${company_id}/board/part/${status}`, filter, { cursor });
  return html`!${each(cards, (shown) => card(shown, can_write))}!${when(
    next_cursor,
    (cursor) => html`<a class="small more-cards" href="${list}" data-more="${source(cursor)}">Older ones</a>`,
  )}`;
}

/** Columns that are not listed have no issues. */
export const boardCounts = (counts: readonly { status: string; count: number }[]): Html =>
  each(counts, ({ status, count }) => html`<data data-status="${status}" value="${count}"></data>`);

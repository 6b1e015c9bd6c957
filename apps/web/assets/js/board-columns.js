// The columns of a board: cards are dropped on them, older ones come at their end, and whoever returns finds them as they were.
import { t } from './texts.js';

export function watchDrags(element, board) {
  const columns = [...element.querySelectorAll('[data-column]')];
  let dragged = null;
  element.addEventListener('dragstart', (event) => {
    dragged = event.target.closest?.('.issue-card[draggable=true]') ?? null;
    if (!dragged) return;
    board.take(dragged.dataset.issue);
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData('text/plain', dragged.href);
    dragged.dataset.dragged = '';
  });
  element.addEventListener('dragend', () => {
    if (!dragged) return;
    delete dragged.dataset.dragged;
    dragged = null;
    board.letGo();
    for (const column of columns) delete column.dataset.over;
  });
  for (const column of columns) {
    column.addEventListener('dragover', (event) => {
      if (!dragged) return;
      event.preventDefault();
      column.dataset.over = '';
    });
    column.addEventListener('dragleave', (event) => {
      if (!column.contains(event.relatedTarget)) delete column.dataset.over;
    });
    column.addEventListener('drop', (event) => {
      event.preventDefault();
      delete column.dataset.over;
      if (dragged) board.move(dragged.dataset.issue, column.dataset.column);
    });
  }
}

/** A request for older cards that failed is repeated. */
const REPEAT_MS = 1000;

/** Loads older cards when the end of a column scrolls into view. */
export function watchEnds(element, board) {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        void board.more(target).then((came) => (came ? observe() : setTimeout(observe, REPEAT_MS)));
      }
    },
    { root: null, rootMargin: '300px' },
  );
  const observe = () => {
    for (const link of element.querySelectorAll('[data-more]')) seen.observe(link);
  };
  element.addEventListener('shortened', observe);
  observe();
}

/** Cards of a column that stay on the page, whatever comes above them; and what scrolling adds to them. */
const MOST_KEPT = 100;
const PAGE = 30;
/** Below what is in sight, beyond where scrolling brings older ones. */
const FAR_PX = 1500;

/** Cards that have come by themselves push others far out of sight: those wait behind the link to older ones again. */
export function shorten(column, { board, filter }) {
  const surplus = cardsOf(column).slice(MOST_KEPT);
  const list = column.querySelector('.cards');
  const isFar = surplus[0]?.getBoundingClientRect().top > list.getBoundingClientRect().bottom + FAR_PX;
  if (!isFar || surplus.some((card) => card === document.activeElement || 'dragged' in card.dataset)) return;
  for (const card of surplus) card.remove();
  column.dataset.hidden = String(Number(column.dataset.hidden) + surplus.length);
  const { column: status } = column.dataset;
  const link = list.querySelector('[data-more]') ?? document.createElement('a');
  const query = `${filter}&status=${status}&sort=updated_at`;
  Object.assign(link, {
    className: 'small more-cards',
    href: `/companies/${board}/issues?${query}`,
    textContent: t`Older ones`,
  });
  // From the beginning, since those that are there may have changed places by then.
  link.dataset.more = `/companies/${board}/board/part/${status}?${filter}&cards=${MOST_KEPT + PAGE}`;
  list.append(link);
  list.dispatchEvent(new Event('shortened', { bubbles: true }));
}

/** By board and filter, how somebody left it: the last few. */
const PLACES = 'board-places';
const MOST_PLACES = 5;
const SETTLING_FRAMES = 4;
/** What the server gives in one answer. */
const MOST_OLDER = 300;

const keyOf = ({ dataset: { board, filter } }) => `${board}?${filter}`;
const placesKept = () => new Map(JSON.parse(sessionStorage.getItem(PLACES) ?? '[]'));
const columnsOf = (element) => [...element.querySelectorAll('[data-column]')];
const cardsOf = (column) => [...column.querySelectorAll('.issue-card')];

/** A page may be left, or closed while it is in the background. */
export function keepPlace() {
  addEventListener('pagehide', savePlace);
  document.addEventListener('visibilitychange', () => document.visibilityState === 'hidden' && savePlace());
}

function savePlace() {
  const element = document.querySelector('[data-board]');
  const columns = columnsOf(element).map((column) => [
    column.dataset.column,
    {
      shown: cardsOf(column).length,
      at: firstInSight(column.querySelector('.cards'), cardsOf(column), VERTICALLY),
    },
  ]);
  const place = {
    columns: Object.fromEntries(columns),
    at: firstInSight(element, columnsOf(element), SIDEWAYS),
    focus: document.activeElement.closest('.issue-card')?.dataset.issue,
  };
  const kept = placesKept();
  kept.delete(keyOf(element));
  kept.set(keyOf(element), place);
  sessionStorage.setItem(PLACES, JSON.stringify([...kept].slice(-MOST_PLACES)));
}

/** For those who come back to the board, or load it again: what the browser restores by itself ends at the window. */
export async function restorePlace(element, board) {
  const place = placesKept().get(keyOf(element));
  if (performance.getEntriesByType('navigation')[0]?.type === 'navigate' || !place) return;
  bringBack(element, columnsOf(element), place.at, SIDEWAYS);
  await Promise.all(columnsOf(element).map((column) => restoreColumn(column, board, place)));
  const card = element.querySelector(`#card-${CSS.escape(place.focus ?? '')}`);
  if (document.activeElement === document.body) card?.focus({ preventScroll: true });
}

async function restoreColumn(column, board, place) {
  const { shown, at } = place.columns[column.dataset.column] ?? {};
  const missing = shown - cardsOf(column).length;
  const older = column.querySelector('[data-more]');
  if (missing > 0 && older) await board.more(older, Math.min(missing, MOST_OLDER));
  const list = column.querySelector('.cards');
  // In the meantime somebody may have begun to scroll.
  if (list.scrollTop > 0 || !at) return;
  // Cards get their true height once they are in sight.
  for (let frame = 0; frame < SETTLING_FRAMES; frame++) {
    bringBack(list, cardsOf(column), at, VERTICALLY);
    await new Promise(requestAnimationFrame);
  }
}

const VERTICALLY = { start: 'top', end: 'bottom', scrolled: 'scrollTop' };
const SIDEWAYS = { start: 'left', end: 'right', scrolled: 'scrollLeft' };

const nameOf = ({ dataset }) => dataset.issue ?? dataset.column;
const offsetIn = (scroller, item, { start }) =>
  item.getBoundingClientRect()[start] - scroller.getBoundingClientRect()[start];

/** The item at the start of what is in sight, and where it is; undefined if nothing is scrolled. */
function firstInSight(scroller, items, axis) {
  if (scroller[axis.scrolled] === 0) return undefined;
  const edge = scroller.getBoundingClientRect()[axis.start];
  const item = items.find((each) => each.getBoundingClientRect()[axis.end] > edge);
  return item && { name: nameOf(item), offset: offsetIn(scroller, item, axis) };
}

function bringBack(scroller, items, at, axis) {
  const item = at && items.find((each) => nameOf(each) === at.name);
  if (item) scroller[axis.scrolled] += offsetIn(scroller, item, axis) - at.offset;
}

// After an act that leads back to its page: what was in sight stays where it was, what was unfolded is open, and the focus is on the same
// control, or on that of the next row if its own is gone.
import { elementAt, placeOf } from './live-parts.js';

const KEY = 'left';
/** A page that begins later than this after a form was sent is not its answer. */
const LATEST_MS = 5000;
const ROW = 'main li, main tr';
const ROWS_AFTER = 20;
const ROWS_BEFORE = 3;
const IN_SIGHT = 12;

/** How the browser came to this page, as far as it tells. */
export const navigation = () => performance.getEntriesByType('navigation')?.[0] ?? {};

/** Whether this page is where a form led that was sent at that time, rather than one that somebody opened since. */
export function isAnswer(at) {
  const { type } = navigation();
  const began = performance.timeOrigin - at;
  // The two clocks may differ a little.
  return type === 'navigate' && began > -1000 && began < LATEST_MS;
}

export function startReturning() {
  // On the window, after all who may prevent it.
  addEventListener('submit', ({ defaultPrevented, target: form, submitter }) => {
    const main = document.querySelector('main');
    if (defaultPrevented || form.getAttribute('method') !== 'post' || !main?.contains(form)) return;
    const { activeElement } = document;
    // Not every browser gives the focus to a button that is pressed.
    const pressed = form.contains(activeElement) ? null : submitter;
    const control = pressed ?? (main.contains(activeElement) ? activeElement : form);
    const left = {
      at: Date.now(),
      path: location.pathname,
      focuses: control !== form,
      places: [control, ...rowsNextTo(control, form)].map((element) => spot(main, element)),
      sights: inSight(main).map((element) => spot(main, element)),
      scrolled: scrollY,
      folds: openFolds(main, form),
    };
    sessionStorage.setItem(KEY, JSON.stringify(left));
  });
}

const spot = (main, element) => ({
  place: placeOf(main, element),
  list: listOf(element),
  top: element.getBoundingClientRect().top,
});

/** They change with what is done. */
const withoutNumbers = (text) => text.replaceAll(/\d+/g, '').trim();

/** A row that has moved to another list, such as what was put off, is gone from its own. */
const listOf = (element) =>
  withoutNumbers(element.closest('section, table')?.querySelector('h2, h3')?.textContent ?? '');

const isSeen = (element) => element?.checkVisibility?.({ visibilityProperty: true }) ?? false;

/** The control of the same kind in the rows after and before that of the control, and otherwise their links. */
function rowsNextTo(control, form) {
  const row = control.closest(ROW) ?? chosenRow(form);
  if (row === null || row === undefined) return [];
  // Also those of the next list, and not what a row consists of.
  const rows = [...document.querySelectorAll(ROW)].filter(
    (each) => each === row || each.parentElement.closest(ROW) === null,
  );
  const at = rows.indexOf(row);
  const within = [...row.querySelectorAll(control.localName)].indexOf(control);
  const counterpart = (other) => {
    const same = within < 0 ? null : other.querySelectorAll(control.localName)[within];
    const fold = same?.closest('details')?.querySelector('summary');
    return [same, fold, other.querySelector('a[href]')].find(isSeen);
  };
  const others = [
    ...(row.contains(control) ? [] : [row]),
    ...rows.slice(at + 1, at + 1 + ROWS_AFTER),
    ...rows.slice(Math.max(0, at - ROWS_BEFORE), at).toReversed(),
  ];
  const own = row.contains(control) ? [row.querySelector('a[href]')].filter(isSeen) : [];
  return [...own, ...others.map(counterpart).filter((element) => element !== undefined)];
}

/** For an act on rows that were chosen. */
const chosenRow = (form) => [...form.elements].find(({ checked }) => checked)?.closest(ROW);

function inSight(main) {
  const found = [];
  for (const element of main.querySelectorAll('[id], a[href], form[action]')) {
    const { top, bottom } = element.getBoundingClientRect();
    if (top >= 0 && bottom > top && bottom <= innerHeight) found.push(element);
    if (found.length === IN_SIGHT) break;
  }
  return found;
}

/** Menus close with the choice, and the form that was sent has had its turn. */
const foldsIn = (main) => [...main.querySelectorAll('details:not([data-menu], [data-while-live])')];
const openFolds = (main, form) =>
  foldsIn(main).flatMap((fold) => (fold.open && form.closest('details.edit') !== fold ? [nameOf(fold)] : []));
const nameOf = ({ dataset, firstElementChild }) =>
  dataset.fold ?? withoutNumbers(firstElementChild?.textContent ?? '');

export function standAgain() {
  const left = JSON.parse(sessionStorage.getItem(KEY));
  sessionStorage.removeItem(KEY);
  const main = document.querySelector('main');
  if (left?.path !== location.pathname || !isAnswer(left.at) || main === null) return;
  for (const fold of foldsIn(main)) if (left.folds.includes(nameOf(fold))) fold.open = true;
  // What the answer itself leads to comes first: a new entry, the next step, or what was wrong.
  if (location.hash !== '' || main.querySelector('[aria-invalid=true], .form-error, [autofocus]')) return;
  const seen = (spots) =>
    spots
      .map((each) => ({ ...each, element: each.place && elementAt(main, each.place) }))
      .find(({ element, list }) => isSeen(element) && listOf(element) === list);
  const control = seen(left.places);
  // The next row moves up to where the one was that is gone.
  const anchor = control ? { ...control, top: left.places[0].top } : seen(left.sights);
  if (anchor) scrollBy({ top: anchor.element.getBoundingClientRect().top - anchor.top, behavior: 'instant' });
  else scrollTo({ top: left.scrolled, behavior: 'instant' });
  if (left.focuses) control?.element.focus({ preventScroll: true });
}

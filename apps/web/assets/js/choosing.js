// Rows that are chosen for an act on all of them: the bar of acts says how many, one box chooses all, the shift key a stretch.
import { tell } from './feedback.js';
import { navigation } from './returning.js';
import { t } from './texts.js';

const KEPT = 'chosen';

const boxes = () => [...document.querySelectorAll('main [data-pick]')];
const chosenNow = () => boxes().filter(({ checked }) => checked);
/** Without those in a closed fold: nobody has seen what they would choose. */
const inSight = () => boxes().filter((box) => box.closest('details:not([open])') === null);

export function startChoosing() {
  // Browsers would put back what was chosen by its place, where another row may be now.
  const kept = navigation().type === 'back_forward' && JSON.parse(sessionStorage.getItem(KEPT));
  if (kept?.address === location.href)
    for (const box of boxes()) box.checked = kept.values.includes(box.value);
  addEventListener('pagehide', () => {
    const values = chosenNow().map(({ value }) => value);
    sessionStorage.setItem(KEPT, JSON.stringify({ address: location.href, values }));
  });
  let last = null;
  document.addEventListener('click', ({ target, shiftKey }) => {
    if (!target.matches('[data-pick]')) return;
    const known = inSight();
    // Everything between the previous one and this one. The page may have replaced its row since.
    const previous = known.findIndex(({ value }) => value === last);
    if (shiftKey && previous >= 0) {
      const [from, to] = [previous, known.indexOf(target)].toSorted((a, b) => a - b);
      for (const between of known.slice(from, to + 1)) between.checked = target.checked;
    }
    last = target.value;
  });
  document.addEventListener('change', ({ target }) => {
    if (target.matches('[data-choose-all]')) for (const box of inSight()) box.checked = target.checked;
    else if (!target.matches('[data-pick]')) return;
    tellChosen();
    tellAloud();
  });
  document.addEventListener('click', ({ target }) => {
    const choice = target.closest('[data-choose]')?.dataset.choose;
    if (choice === undefined) return;
    // The bar is about to disappear, with the button that has the focus.
    if (choice === 'none') focusLastChosen({ preventScroll: true });
    for (const box of choice === 'all' ? inSight() : boxes()) box.checked = choice === 'all';
    tellChosen();
    tellAloud();
  });
  document.addEventListener('keydown', ({ key, target }) => {
    if (key === 'Escape' && target.closest('[data-bulk]')) focusLastChosen();
  });
  // Once the refreshed part has its choices back.
  document.addEventListener('htmx:after:swap', () => queueMicrotask(tellChosen));
  document.addEventListener('filtered', tellChosen);
  tellChosen();
}

function focusLastChosen(options) {
  const box = chosenNow().at(-1);
  (box?.closest('tr[tabindex]') ?? box)?.focus(options);
}

/** The bar comes and goes far from the box: its heading says what can be done with how many. */
function tellAloud() {
  const bulk = document.querySelector('[data-bulk]');
  const text = bulk?.hidden === false ? bulk.querySelector('legend, .bulk-head').textContent.trim() : '';
  tell(text, 'chosen');
}

/** Brings the bar up to date with the boxes that are there. */
export function tellChosen() {
  const bulk = document.querySelector('[data-bulk]');
  const all = document.querySelector('[data-choose-all]');
  if (!bulk || !all) return;
  const chosen = chosenNow().length;
  const known = inSight();
  bulk.hidden = chosen === 0;
  bulk.querySelector('[data-chosen]').textContent = t`${chosen} selected`;
  all.checked = known.length > 0 && known.every(({ checked }) => checked);
  all.indeterminate = chosen > 0 && !all.checked;
}

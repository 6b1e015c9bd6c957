// Lists that are filtered while one types: the answer takes the place of what the page marks `data-filtered`, and of its address.
import { keepState, restoreState } from './live-parts.js';

const WAIT_MS = 200;
const REPEAT_MS = 2000;
let timer = 0;
/** The latest request. */
let asked = null;
/** The address that is shown, or asked for. */
let shown = location.href;
const said = document.createElement('p');
Object.assign(said, { className: 'sr-only', role: 'status' });
document.body.append(said);

// By Enter; choices other than the text load the page.
document.addEventListener('submit', (event) => {
  const { target: form } = event;
  const typed = document.activeElement;
  if (typed.type !== 'search' || typed.form !== form || !isOfPage(form)) return;
  event.preventDefault();
  void filter(form);
  // On a phone its keyboard hides what has been found.
  if (matchMedia('(hover: none)').matches) typed.blur();
});

/** Elsewhere there is nothing to replace. */
const isOfPage = (form) =>
  form.matches('[role=search][data-autosubmit]') && new URL(form.action).pathname === location.pathname;

export function filterLater(form, wait = WAIT_MS) {
  if (!isOfPage(form)) return;
  clearTimeout(timer);
  timer = setTimeout(() => void filter(form), wait);
}

async function filter(form) {
  clearTimeout(timer);
  const address = new URL(form.action);
  address.search = new URLSearchParams(new FormData(form));
  if (address.href === shown) return;
  shown = address.href;
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  // What happens while the server answers may not be in the answer.
  const missed = [];
  document.addEventListener('live', ({ detail }) => missed.push(detail), { signal });
  const answer = await answerOf(address, signal);
  if (signal.aborted) return;
  asked.abort();
  if (answer === 'none') {
    shown = '';
    return filterLater(form, REPEAT_MS);
  }
  if (answer === 'other' || !show(answer)) return location.assign(address);
  history.replaceState(history.state, '', address);
  document.dispatchEvent(new CustomEvent('filtered', { detail: { missed } }));
  return undefined;
}

/** @returns the page; `none` if there may be one later; `other` if it is to be loaded instead, since it says what is wrong */
async function answerOf(address, signal) {
  const parts = filteredIn(document);
  for (const part of parts) part.ariaBusy = 'true';
  try {
    const response = await fetch(address, { signal });
    if (response.status === 429 || response.status >= 500) return 'none';
    if (!response.ok || response.redirected) return 'other';
    return new DOMParser().parseFromString(await response.text(), 'text/html');
  } catch {
    return 'none';
  } finally {
    if (asked?.signal === signal) for (const part of parts) part.ariaBusy = null;
  }
}

const filteredIn = (page) => [...page.querySelectorAll('main [data-filtered]:not([data-filtered] *)')];

/** @returns whether the answer has the same parts */
function show(answer) {
  const [parts, fresh] = [filteredIn(document), filteredIn(answer)];
  if (parts.length !== fresh.length) return false;
  parts.forEach((part, index) => {
    keepState(part);
    part.replaceChildren(...fresh[index].childNodes);
    restoreState(part);
  });
  said.textContent = parts
    .map((part) => part.querySelector('[role=status], .empty-title')?.textContent.trim() ?? '')
    .join(' ');
  return true;
}

// What the page says about an act: by a note over the page, or on the button that began it.
import { t } from './texts.js';

/** For a note; longer while the pointer or focus is on it. */
const SHOWN_MS = 12_000;
/** Until what is told is there: after a page, whose title and focus are read first. */
const TOLD_AFTER_MS = 400;

const heard = document.createElement('p');
Object.assign(heard, { className: 'sr-only', role: 'status' });
heard.dataset.told = '';
document.body.append(heard);
let telling = 0;
const untold = new Map();

/**
 * To those who hear the page. Many screen readers are silent about a text that comes along with its element, so this one is always there.
 * @param about what takes the place of an earlier text about the same, if nobody has heard that yet
 */
export function tell(text, about = text) {
  clearTimeout(telling);
  // The same text once more is a change, too.
  heard.textContent = '';
  untold.set(about, text);
  telling = setTimeout(() => {
    heard.textContent = [...untold.values()].filter(Boolean).join(' ');
    untold.clear();
  }, TOLD_AFTER_MS);
}

export function startToasts() {
  for (const element of document.querySelectorAll('[data-toast]')) show(element);
  // Also what stays on the page; with what is offered, such as to undo.
  for (const answer of document.querySelectorAll(
    '[data-toast], main .notice[role=status], main .once [role=status]',
  )) {
    const texts = [...answer.childNodes].filter((part) => !part.matches?.('[data-close-toast]'));
    tell(
      texts
        .map(({ textContent }) => textContent)
        .join(' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
  }
}

/**
 * @param text what was done, or why it was not
 * @param silent for a caller that tells screen readers itself
 * @returns the note, for a caller that takes it back
 */
export function toast(text, { silent = false } = {}) {
  document.querySelector('[data-toast]')?.remove();
  const element = document.createElement('div');
  element.className = 'toast';
  element.dataset.toast = '';
  const said = document.createElement('span');
  said.textContent = text;
  const close = document.createElement('button');
  Object.assign(close, { type: 'button', className: 'link small', textContent: t`Close` });
  close.dataset.closeToast = '';
  element.append(said, close);
  document.querySelector('main')?.append(element);
  show(element);
  if (!silent) tell(text);
  return element;
}

function show(element) {
  // The page answers a form: set the list's address, so that a reload shows the list and sends nothing again.
  const { address } = element.dataset;
  if (address) history.replaceState(null, '', address);
  const { activeElement: before } = document;
  element.querySelector('[data-close-toast]')?.addEventListener('click', () => {
    element.remove();
    if (before.isConnected) before.focus({ preventScroll: true });
  });
  keepClear(element, '--toast');
  bringOutFrom(element, before);
  const leave = () => {
    if (element.matches(':hover, :focus-within')) setTimeout(leave, 2000);
    else element.remove();
  };
  setTimeout(leave, SHOWN_MS);
}

const observed = new Map();
const heights = new ResizeObserver((entries) => {
  for (const { target } of entries) reserve(target);
});

/** What sticks to the lower edge of the window is above the element for as long as that is there. @param name the style sheet's for its height */
export function keepClear(element, name) {
  observed.set(element, name);
  // Also tells when it is removed.
  heights.observe(element);
  reserve(element);
}

function reserve(element) {
  const name = observed.get(element);
  const { style } = document.documentElement;
  if (element.isConnected) return style.setProperty(name, `${element.offsetHeight}px`);
  heights.unobserve(element);
  observed.delete(element);
  // Another one may have come in its place.
  if (![...observed.values()].includes(name)) style.removeProperty(name);
  return undefined;
}

/** What somebody is at may be what the note is about: it is never below it. */
function bringOutFrom(note, control) {
  if (control === document.body || note.contains(control)) return;
  const under = control.getBoundingClientRect().bottom - note.getBoundingClientRect().top;
  if (under > 0) scrollBy({ top: under + 8 });
}

/**
 * A button says that what it began is under way, and cannot be pressed meanwhile.
 * @returns what ends that
 */
export function busy(button, focused = document.activeElement) {
  button.setAttribute('aria-busy', 'true');
  button.disabled = true;
  return () => {
    button.removeAttribute('aria-busy');
    button.disabled = false;
    if (focused === button && document.activeElement === document.body) button.focus();
  };
}

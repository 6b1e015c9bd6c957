// What the page says about an act: by a note over the page, or on the button that began it.
import { t } from './texts.js';

/** For a note; longer while the pointer or focus is on it. */
const SHOWN_MS = 12_000;
/** For a button that has copied. */
const COPIED_MS = 1500;

export function startToasts() {
  for (const element of document.querySelectorAll('[data-toast]')) show(element);
}

/**
 * @param text what was done, or why it was not
 * @param silent for a caller that tells screen readers itself
 */
export function toast(text, { silent = false } = {}) {
  document.querySelector('[data-toast]')?.remove();
  const element = document.createElement('div');
  element.className = 'toast';
  if (!silent) element.setAttribute('role', 'status');
  element.dataset.toast = '';
  element.textContent = text;
  document.querySelector('main')?.append(element);
  show(element);
}

function show(element) {
  // The page answers a form: set the list's address, so that a reload shows the list and sends nothing again.
  const { address } = element.dataset;
  if (address) history.replaceState(null, '', address);
  element.querySelector('[data-close-toast]')?.addEventListener('click', () => element.remove());
  const leave = () => {
    if (element.matches(':hover, :focus-within')) setTimeout(leave, 2000);
    else element.remove();
  };
  setTimeout(leave, SHOWN_MS);
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

/** Copies a text, and says so on the button that did it. Without a secure connection a browser has no clipboard: nothing is said. */
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return;
  }
  button.textContent = t`Copied`;
  setTimeout(() => (button.textContent = t`Copy`), COPIED_MS);
}

// Reports what was just done: shown over the page for a while, longer while the pointer or focus is on it.
const SHOWN_MS = 12_000;

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

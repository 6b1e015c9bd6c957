// A form that is being sent says so, and is not sent twice: its button is busy until the next page is there.

/** Longer than any answer takes. */
const LONGEST_MS = 60_000;
/** An answer that is saved as a file leaves the page as it is, and tells it nothing. */
const DOWNLOAD_MS = 5000;
const sending = new Map();

export function startSending() {
  // On the window, after all who may prevent it or send the form themselves.
  addEventListener('submit', (event) => {
    const { target: form, submitter } = event;
    if (event.defaultPrevented || form.getAttribute('target') || form.dataset.autosubmit !== undefined)
      return;
    if (sending.has(form)) return event.preventDefault();
    const button = submitter ?? form.querySelector('button:not([type=button])');
    if (!button) return;
    const isDownload = form.getAttribute('action')?.startsWith('/api/');
    const timer = setTimeout(() => restore(form), isDownload ? DOWNLOAD_MS : LONGEST_MS);
    sending.set(form, { button, timer, focused: document.activeElement });
    // Later: a button that is disabled now would not be sent with its form.
    setTimeout(() => {
      if (!sending.has(form)) return;
      button.setAttribute('aria-busy', 'true');
      button.disabled = true;
    });
  });
  // Also a page that the browser had put aside while its form was on its way.
  addEventListener('pageshow', () => {
    for (const form of sending.keys()) restore(form);
  });
}

function restore(form) {
  const { button, timer, focused } = sending.get(form);
  sending.delete(form);
  clearTimeout(timer);
  button.removeAttribute('aria-busy');
  button.disabled = false;
  if (focused === button && document.activeElement === document.body) button.focus();
}

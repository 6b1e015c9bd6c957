// Forms that are sent by a choice. To a browser each arrow key in a closed field is a change: what keys only pass over is sent once
// it is confirmed by Enter or by leaving the field, and Escape takes it back.

/** Fields whose last change came by a key while their list was closed. */
const passed = new WeakSet();

const isOpen = (field) => {
  try {
    return field.matches(':open');
  } catch {
    // A browser that does not know the selector: its lists get their keys themselves.
    return false;
  }
};

/** Whether the field's value is one that keys pass over, rather than a choice. */
export const isPassing = (field) => passed.has(field);

const OPENING = new Set([' ', 'F4']);

/** Before all other listeners, so that they can ask. */
document.addEventListener(
  'keydown',
  ({ target, key, altKey }) => {
    if (!target.matches?.('select')) return;
    if (altKey || OPENING.has(key) || isOpen(target)) passed.delete(target);
    else if (key !== 'Enter' && key !== 'Tab') passed.add(target);
  },
  { capture: true },
);
document.addEventListener('pointerdown', ({ target }) => passed.delete(target.closest?.('select')), {
  capture: true,
});

/** Where the focus goes on the page that follows. */
const FOCUS = 'focus-after';

export function startAutosubmit() {
  restoreFocus();
  document.addEventListener('change', ({ target }) => {
    const form = target.closest('form[data-autosubmit]');
    if (!form) return;
    // Its button is seen now: there is something to save.
    if (isPassing(target)) form.dataset.unsent = '';
    else send(form, target);
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    const form = target.closest('form[data-unsent]');
    if (form && !form.contains(relatedTarget)) send(form, relatedTarget ?? target);
  });
  document.addEventListener('keydown', (event) => {
    const form = event.target.closest('form[data-unsent]');
    if (!form || !event.target.matches('select')) return;
    if (event.key === 'Enter') {
      event.preventDefault();
      send(form, event.target);
    } else if (event.key === 'Escape') {
      form.reset();
      delete form.dataset.unsent;
    }
  });
}

function send(form, focused) {
  delete form.dataset.unsent;
  const place = placeOf(focused);
  if (place) sessionStorage.setItem(FOCUS, JSON.stringify({ path: location.pathname, place }));
  form.requestSubmit();
}

const quoted = (text) => `"${CSS.escape(text)}"`;

/** A selector that finds the field on the page as it will be. */
function placeOf(field) {
  if (field.id) return `#${CSS.escape(field.id)}`;
  const action = field.form?.getAttribute('action');
  return field.name && action ? `form[action=${quoted(action)}] [name=${quoted(field.name)}]` : null;
}

function restoreFocus() {
  const kept = sessionStorage.getItem(FOCUS);
  if (kept === null) return;
  sessionStorage.removeItem(FOCUS);
  const { path, place } = JSON.parse(kept);
  if (path === location.pathname) document.querySelector(place)?.focus();
}

// Keys for navigation, and for choices that are sent as they are made. Single letters can be switched off (speech input may trigger them); Ctrl-K stays.
const OFF = 'single-keys-off';

const GOES = { d: '', b: '/board', i: '/issues', a: '/agents', r: '/runs', c: '/costs', n: '/inbox' };
/** Time that `g` waits for its letter. */
const SEQUENCE_MS = 1500;

export function startKeys() {
  const { company } = document.body.dataset;
  const base = company && company !== 'instance' ? `/companies/${company}` : null;
  let g = 0;
  document.addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    if (typedAhead !== null && key.length === 1 && !ctrlKey && !metaKey) {
      event.preventDefault();
      typedAhead += key;
      return undefined;
    }
    if ((ctrlKey || metaKey) && key.toLowerCase() === 'k') {
      event.preventDefault();
      return void open();
    }
    if ((ctrlKey || metaKey) && key === 'Enter' && target.form && target.matches('textarea')) {
      return target.form.requestSubmit();
    }
    if (ctrlKey || metaKey || altKey || event.defaultPrevented || !lettersAct() || isTyping(target))
      return undefined;
    if (base && g > Date.now() - SEQUENCE_MS && Object.hasOwn(GOES, key)) {
      g = 0;
      event.preventDefault();
      return location.assign(base + GOES[key]);
    }
    g = key === 'g' ? Date.now() : 0;
    const act = ACTS[key];
    if (act && act(base)) event.preventDefault();
    return undefined;
  });
  for (const link of document.querySelectorAll('[data-palette]')) {
    link.addEventListener('click', (event) => {
      event.preventDefault();
      void open();
    });
  }
  const box = document.querySelector('[data-single-keys]');
  if (box) {
    box.checked = lettersAct();
    box.addEventListener('change', () => {
      if (box.checked) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, 'yes');
    });
  }
}

/** @returns whether the key did something */
const ACTS = {
  c: (base) => base && document.body.dataset.readsOnly === undefined && goTo(`${base}/issues/new`),
  '?': (base) => base && goTo(`${base}/keys`),
  '/': () => {
    const field = document.querySelector('main input[type=search]');
    if (field) field.select();
    else void open();
    return true;
  },
  h: openLater,
  e: () => {
    const form = rowInFocus()?.querySelector('form[action$="/read"]');
    form?.requestSubmit();
    return Boolean(form);
  },
  Escape: () => {
    const menu = document.activeElement?.closest(':is(.later, .rejects)[open]');
    if (!menu) return false;
    menu.open = false;
    menu.querySelector('summary').focus();
    return true;
  },
  x: () => {
    const box = document.activeElement
      ?.closest('main tbody tr, main ul.list > li')
      ?.querySelector('[data-pick]');
    box?.click();
    return Boolean(box);
  },
  m: () => {
    const field = document.querySelector('[data-bulk]:not([hidden]) :is(select, textarea)');
    field?.focus();
    return Boolean(field);
  },
  j: () => step(1),
  k: () => step(-1),
};

const rowInFocus = () => document.activeElement?.closest('main ul.list > li') ?? null;

/** The choice of how long to put off: that of the row in focus, or the only one of the page. */
function openLater() {
  const menu = rowInFocus()?.querySelector('.later') ?? document.querySelector('main aside .later');
  if (!menu) return false;
  menu.open = true;
  menu.querySelector('button').focus();
  return true;
}

function goTo(path) {
  location.assign(path);
  return true;
}

/** The first link of the next row of the page's table. The list of issues handles its own rows. */
function step(by) {
  if (document.querySelector('[data-issue-list]')) return false;
  const rows = [...document.querySelectorAll('main tbody tr, main ul.list > li')].filter((row) =>
    row.querySelector('a'),
  );
  if (rows.length === 0) return false;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? 0 : Math.max(0, Math.min(at + by, rows.length - 1))];
  next.querySelector('a').focus();
  return true;
}

export function isTyping(target) {
  return (
    target.matches('input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]') ||
    document.querySelector('dialog[open]') !== null
  );
}

export function lettersAct() {
  try {
    return localStorage.getItem(OFF) === null;
  } catch {
    return true;
  }
}

/** Text typed while the palette is loading: input for it rather than keys for the page. */
let typedAhead = null;

async function open() {
  if (typedAhead !== null) return;
  typedAhead = '';
  try {
    const { openPalette } = await import('./palette.js');
    openPalette(typedAhead);
  } finally {
    typedAhead = null;
  }
}

/**
 * Fields of choices whose last change came by a key while their list was closed: to a browser each arrow key is a change. What keys
 * only pass over is sent once it is confirmed by Enter or by leaving the field, and Escape takes it back.
 */
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

export function startAutosubmit() {
  document.addEventListener('change', ({ target }) => {
    const form = target.closest('form[data-autosubmit]');
    // What is sought has been followed while it was typed.
    if (!form || target.type === 'search') return;
    // Its button is seen now: there is something to save.
    if (isPassing(target)) form.dataset.unsent = '';
    else send(form);
  });
  document.addEventListener('focusout', ({ target, relatedTarget }) => {
    const form = target.closest('form[data-unsent]');
    if (form && !form.contains(relatedTarget)) send(form);
  });
  document.addEventListener('keydown', (event) => {
    const form = event.target.closest('form[data-unsent]');
    if (!form || !event.target.matches('select')) return;
    if (event.key === 'Enter') {
      event.preventDefault();
      send(form);
    } else if (event.key === 'Escape') {
      form.reset();
      delete form.dataset.unsent;
    }
  });
}

/** A moment later: by then the focus is where it goes to. */
function send(form) {
  delete form.dataset.unsent;
  setTimeout(() => form.requestSubmit());
}

// Everything from one field: pages, acts, and the company's work. Ctrl-K opens it.
import Combobox from './combobox-nav.js';
import { t } from './texts.js';

const WAIT_MS = 120;
let dialog = null;

/** @param typed text typed while the palette was loading */
export function openPalette(typed) {
  dialog ??= build();
  if (dialog.open) return;
  dialog.showModal();
  const input = dialog.querySelector('input');
  if (typed === '') input.select();
  else input.value = typed;
  input.dispatchEvent(new Event('input'));
}

function build() {
  const { company } = document.body.dataset;
  const element = document.createElement('dialog');
  element.className = 'palette';
  element.setAttribute('aria-label', t`Find anything`);
  element.innerHTML = `<input type="search" autocomplete="off" spellcheck="false" />
    <div role="listbox" id="palette-list"><div data-places></div><div data-found></div></div>`;
  const field = element.querySelector('input');
  field.ariaLabel = field.placeholder = t`Issues, agents, runs, pages`;
  element.querySelector('[role=listbox]').ariaLabel = t`Found`;
  document.body.append(element);
  const [input, list] = [element.querySelector('input'), element.querySelector('[role=listbox]')];
  const combobox = new Combobox(input, list, {
    tabInsertsSuggestions: false,
    firstOptionSelectionMode: 'active',
  });
  const [places, found] = [list.querySelector('[data-places]'), list.querySelector('[data-found]')];
  const known = knownPlaces(company);
  let timer = 0;
  let asked = null;
  const showPlaces = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = known.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
    places.replaceChildren(...fitting.slice(0, words.length === 0 ? 12 : 6).map(optionOf));
    combobox.resetSelection();
  };
  const ask = async () => {
    asked?.abort();
    asked = new AbortController();
    const q = input.value.trim();
    if (q === '') return found.replaceChildren();
    const response = await fetch(`/companies/${company}/find?${new URLSearchParams({ q })}`, {
      headers: { 'HX-Request': 'true' },
      signal: asked.signal,
    }).catch((error) => (error.name === 'AbortError' ? 'overtaken' : null));
    if (response === 'overtaken') return undefined;
    if (!response?.ok) return found.replaceChildren(t`The search failed. Keep typing to try again.`);
    found.innerHTML = await response.text();
    combobox.resetSelection();
    return undefined;
  };
  input.addEventListener('input', () => {
    showPlaces();
    clearTimeout(timer);
    if (company && company !== 'instance') timer = setTimeout(() => void ask(), WAIT_MS);
  });
  // A search field would only be emptied by the first one.
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    element.close();
  });
  // A click on a link navigates by itself.
  list.addEventListener('combobox-commit', () => element.close());
  element.addEventListener('click', ({ target }) => target === element && element.close());
  element.addEventListener('close', () => combobox.stop());
  element.addEventListener('toggle', () => element.open && combobox.start());
  combobox.start();
  return element;
}

/** Destinations from here: the pages of the navigation, and acts. */
function knownPlaces(company) {
  const acts =
    company && company !== 'instance'
      ? [
          { label: t`New issue`, kind: t`act`, href: `/companies/${company}/issues/new` },
          { label: t`Keys`, kind: t`page`, href: `/companies/${company}/keys` },
        ]
      : [];
  const buttons = [...document.querySelectorAll('.heading .actions a')].map((link) => ({
    label: link.textContent.trim(),
    kind: t`act`,
    href: link.getAttribute('href'),
  }));
  const pages = [...document.querySelectorAll('.sections a, .account a, .top .brand')].map((link) => ({
    label: [...link.childNodes].find(({ nodeType }) => nodeType === 3)?.data.trim() ?? '',
    kind: t`page`,
    href: link.getAttribute('href'),
  }));
  const all = [...acts, ...buttons, ...pages].filter(({ label }) => label !== '');
  return [...new Map(all.map((place) => [place.href, place])).values()];
}

function optionOf({ label, kind, href }, index) {
  const link = document.createElement('a');
  link.id = `place-${index}`;
  link.href = href;
  link.tabIndex = -1;
  link.setAttribute('role', 'option');
  const what = document.createElement('span');
  what.className = 'soft small';
  what.textContent = kind;
  link.append(what, ` ${label}`);
  return link;
}

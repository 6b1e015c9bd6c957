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
    <div role="listbox" id="palette-list"></div>
    <p class="none" role="status"></p>`;
  const field = element.querySelector('input');
  field.ariaLabel = field.placeholder = t`Issues, agents, runs, pages`;
  element.querySelector('[role=listbox]').ariaLabel = t`Found`;
  document.body.append(element);
  const [input, list] = [element.querySelector('input'), element.querySelector('[role=listbox]')];
  // Within the dialog: what is outside of it is silent while it is open.
  const none = element.querySelector('[role=status]');
  const combobox = new Combobox(input, list, {
    tabInsertsSuggestions: false,
    firstOptionSelectionMode: 'active',
  });
  const known = knownPlaces(company);
  const search = new Search(company);
  const show = () => {
    const typed = input.value.trim();
    const places = placesFor(known, typed).map((place, index) => optionOf(place, index));
    const options = [...places, ...search.found].map((option) => [rankOf(option, typed), option]);
    list.replaceChildren(...options.toSorted(([one], [other]) => one - other).map(([, option]) => option));
    if (search.failed) none.textContent = t`The search failed. Keep typing to try again.`;
    else none.textContent = options.length > 0 || search.pending ? '' : t`Nothing found`;
    combobox.resetSelection();
  };
  const isChosen = () => {
    const [first] = list.children;
    return (
      list.querySelector('[aria-selected=true]') || (first && rankOf(first, input.value.trim()) === EXACTLY)
    );
  };
  let goesOn = false;
  input.addEventListener('input', () => {
    goesOn = false;
    search.ask(input.value.trim(), () => {
      show();
      if (goesOn && !search.failed) list.querySelector('[role=option]')?.click();
    });
    show();
  });
  element.addEventListener(
    'keydown',
    (event) => {
      if (event.key === 'Escape') {
        // A search field would only be emptied by the first one.
        event.preventDefault();
        element.close();
      } else if (event.key === 'Enter' && search.pending && !isChosen()) {
        // What is meant may be among what is about to be found.
        event.preventDefault();
        event.stopPropagation();
        goesOn = true;
      }
    },
    { capture: true },
  );
  // A click on a link navigates by itself.
  list.addEventListener('combobox-commit', () => element.close());
  element.addEventListener('click', ({ target }) => target === element && element.close());
  element.addEventListener('close', () => combobox.stop());
  element.addEventListener('toggle', () => element.open && combobox.start());
  combobox.start();
  return element;
}

/** What the company has of it. */
class Search {
  found = [];
  failed = false;
  pending = false;
  #company;
  #timer = 0;
  #asked = null;

  constructor(company) {
    this.#company = company && company !== 'instance' ? company : null;
  }

  /** A moment later. Until the answer comes, what was found last stays. @param then called with it */
  ask(q, then) {
    clearTimeout(this.#timer);
    this.#asked?.abort();
    if (q === '') this.found = [];
    this.pending = q !== '' && this.#company !== null;
    if (this.pending) this.#timer = setTimeout(() => void this.#ask(q, then), WAIT_MS);
  }

  async #ask(q, then) {
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    const answer = await fetch(`/companies/${this.#company}/find?${new URLSearchParams({ q })}`, {
      headers: { 'HX-Request': 'true' },
      signal,
    })
      .then((response) => (response.ok ? response.text() : null))
      .catch(() => null);
    if (signal.aborted) return;
    const template = document.createElement('template');
    template.innerHTML = answer ?? '';
    this.pending = false;
    this.failed = answer === null;
    this.found = [...template.content.children];
    then();
  }
}

const wordsOf = (text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u);

function placesFor(known, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = known.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
  return words.length === 0 ? fitting.slice(0, 12) : fitting.slice(0, 6);
}

/** What is meant first: by its whole name, by its beginning, by the beginning of its words; then names that have it within a word. */
function rankOf({ dataset: { name = '', also = '', kind } }, typed) {
  const [text, sought] = [name.toLowerCase(), typed.toLowerCase()];
  if (text === sought || also.toLowerCase() === sought) return EXACTLY;
  if (text.startsWith(sought)) return 1;
  const [words, parts] = [wordsOf(text), wordsOf(sought)];
  if (parts.every((part) => words.some((word) => word.startsWith(part)))) return 2;
  if (!parts.every((part) => text.includes(part))) return 5;
  return kind === undefined ? 3 : 4;
}

const EXACTLY = 0;

/** Destinations from here: the pages of the navigation, and acts. */
function knownPlaces(company) {
  const isCompany = company && company !== 'instance';
  const writes = isCompany && document.body.dataset.readsOnly === undefined;
  const acts = [
    ...(writes ? [{ label: t`New issue`, kind: t`act`, href: `/companies/${company}/issues/new` }] : []),
    ...(isCompany ? [{ label: t`Keys`, kind: t`page`, href: `/companies/${company}/keys` }] : []),
  ];
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
  Object.assign(link.dataset, { name: label, kind });
  const what = document.createElement('span');
  what.className = 'soft small';
  what.textContent = kind;
  link.append(what, ` ${label}`);
  return link;
}

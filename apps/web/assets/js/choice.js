// A field that is given a name out of many: offers those that fit while somebody types. The server knows the name by itself.
import Combobox from './combobox-nav.js';
import { plural, t } from './texts.js';

const WAIT_MS = 120;
const GAP_PX = 4;
const TALLEST_PX = 360;
/** The list is beside the field where there is room: a phone's keyboard covers half of the window. */
const LEAST_PX = 180;
/** What Enter takes. */
const MARKED = ':is([aria-selected=true], [data-combobox-option-default])';

let box = null;
const offers = new WeakMap();

/** @param name of the event: `click` shows all of them, since the field says which one it is now */
export function offerChoices(input, name) {
  const known = offers.get(input);
  const offer = known ?? new Offer(input);
  offers.set(input, offer);
  if (!known && input.value !== input.defaultValue) offer.ask(input.value);
  else if (document.activeElement !== input) return;
  else if (name === 'click' && !offer.open) offer.ask('');
}

function build() {
  const element = document.createElement('div');
  element.className = 'offers choices-offered';
  element.popover = 'manual';
  element.innerHTML =
    '<div role="listbox" id="choices-offered"></div><p class="soft small" role="status"></p>';
  const [list, said] = element.children;
  list.ariaLabel = t`Found`;
  // A press must not take the focus, and what was typed so far is not the choice.
  element.addEventListener('mousedown', (event) => event.preventDefault());
  (document.querySelector('main') ?? document.body).append(element);
  return { element, list, said };
}

class Offer {
  open = false;
  #input;
  #combobox;
  #timer = 0;
  #asked = null;
  #goesOn = false;
  #place = () => place(this.#input);
  #commit = ({ target }) => this.#take(target.dataset.value);

  constructor(input) {
    box ??= build();
    this.#input = input;
    this.#combobox = new Combobox(input, box.list, {
      tabInsertsSuggestions: false,
    });
    input.addEventListener('input', ({ isTrusted }) => isTrusted && this.ask(input.value));
    input.addEventListener('keydown', (event) => this.#onKey(event), { capture: true });
    input.addEventListener('blur', () => this.close());
  }

  ask(q) {
    clearTimeout(this.#timer);
    this.#asked?.abort();
    this.#asked = new AbortController();
    this.#goesOn = false;
    const { signal } = this.#asked;
    this.#timer = setTimeout(() => void this.#ask(q.trim(), signal), WAIT_MS);
  }

  #onKey(event) {
    const { key, altKey, isComposing } = event;
    if (isComposing) return;
    if (key === 'Enter') this.#onEnter(event);
    else if (key === 'Escape' && this.open) {
      event.preventDefault();
      event.stopImmediatePropagation();
      this.close();
    } else if ((key === 'ArrowDown' || (key === 'ArrowUp' && altKey)) && !this.open) {
      event.preventDefault();
      this.ask('');
    }
  }

  close() {
    clearTimeout(this.#timer);
    this.#asked?.abort();
    this.#asked = null;
    if (!this.open) return;
    this.open = false;
    this.#combobox.stop();
    const { element, list, said } = box;
    list.removeEventListener('combobox-commit', this.#commit);
    removeEventListener('resize', this.#place);
    removeEventListener('scroll', this.#place, { capture: true });
    element.hidePopover();
    list.replaceChildren();
    said.textContent = '';
  }

  /** What is marked is taken by the list itself. Otherwise the field is sent only once what is meant may have been found. */
  #onEnter(event) {
    const { form, name, value, defaultValue } = this.#input;
    const sendsItself = !name || form?.dataset.autosubmit !== undefined;
    if (this.#asked !== null) this.#goesOn = true;
    else if (!sendsItself || (this.open && box.list.querySelector(MARKED))) return;
    else if (name && value === defaultValue) this.close();
    else this.#take(value);
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  async #ask(q, signal) {
    const address = new URL(this.#input.dataset.choices, location.href);
    address.searchParams.set('q', q);
    const answer = await fetch(address, { headers: { 'HX-Request': 'true' }, signal })
      .then((response) => (response.ok && !response.redirected ? response.text() : null))
      .catch(() => null);
    if (signal.aborted) return;
    this.#asked = null;
    // Of all of them, none is meant yet: Enter must not take the first.
    this.#combobox.firstOptionSelectionMode = q === '' ? 'none' : 'active';
    this.#show(answer);
    const { children } = box.list;
    const [first] = children;
    const isMeant = first?.dataset.value.toLowerCase() === q.toLowerCase() || children.length === 1;
    if (this.#goesOn && isMeant) first.click();
    this.#goesOn = false;
  }

  #show(answer) {
    const { element, list, said } = box;
    list.innerHTML = answer ?? '';
    const more = list.querySelector('[data-more]');
    more?.remove();
    const count = list.children.length;
    if (answer === null) said.textContent = t`The search failed. Keep typing to try again.`;
    else if (more) said.textContent = t`There are more: go on typing`;
    else said.textContent = count === 0 ? t`Nothing found` : plural(count, '# found', '# found');
    if (!this.open) {
      this.open = true;
      list.addEventListener('combobox-commit', this.#commit);
      addEventListener('resize', this.#place);
      addEventListener('scroll', this.#place, { capture: true });
      element.showPopover();
      this.#combobox.start();
    }
    this.#place();
    this.#combobox.resetSelection();
  }

  #take(value) {
    this.close();
    this.#input.value = value;
    for (const type of ['input', 'change']) this.#input.dispatchEvent(new Event(type, { bubbles: true }));
  }
}

/** Below the field, or above it if there is more room. */
function place(input) {
  const { left, top, bottom, width } = input.getBoundingClientRect();
  const { element } = box;
  const height = visualViewport?.height ?? innerHeight;
  const below = height - bottom - 2 * GAP_PX;
  const isBelow = below >= LEAST_PX || below >= top;
  const room = Math.min(isBelow ? below : top - 2 * GAP_PX, TALLEST_PX);
  const wide = Math.min(Math.max(width, 256), innerWidth - 4 * GAP_PX);
  Object.assign(element.style, {
    left: `${Math.max(2 * GAP_PX, Math.min(left, innerWidth - wide - 2 * GAP_PX))}px`,
    width: `${wide}px`,
    maxHeight: `${room}px`,
    top: isBelow ? `${bottom + GAP_PX}px` : 'auto',
    bottom: isBelow ? 'auto' : `${innerHeight - top + GAP_PX}px`,
  });
}

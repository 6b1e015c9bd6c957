// The board: cards move by themselves while agents work, by drag and drop, and by keyboard.
import { t, written } from './texts.js';

/** Maximum number of concurrent requests for cards; many events about one issue cost one request. */
const AT_ONCE = 4;
const WAIT_MS = 60;
/** Pace at which the columns are counted again. */
const COUNT_MS = 2000;

export function startBoard() {
  const element = document.querySelector('[data-board]');
  if (!element) return;
  const board = new Board(element);
  document.addEventListener('live', ({ detail: { type, data } }) => {
    if (type === 'comment_created') board.refresh(data.issue_id);
    else if (type.startsWith('issue_')) board.refresh(data.id);
  });
  document.addEventListener('live-reset', () => location.reload());
  element.addEventListener('keydown', (event) => board.onKey(event));
  element.addEventListener('focusin', ({ target }) => board.roveTo(target.closest('.issue-card')));
  watchEnds(element, board);
  watchDrags(element, board);
}

class Board {
  #element;
  #columns;
  #said = document.getElementById('board-said');
  #wanted = new Set();
  #running = 0;
  #counting = false;

  constructor(element) {
    this.#element = element;
    this.#columns = [...element.querySelectorAll('[data-column]')];
    for (const column of this.#columns) {
      // Older cards that are in the column's count but not shown.
      const shown = column.querySelectorAll('.issue-card').length;
      column.dataset.hidden = String(Number(column.querySelector('[data-count]').dataset.count) - shown);
    }
    this.adopt();
  }

  /** Makes one card reachable by the tab key: the one last focused. Arrow keys reach the others. */
  roveTo(card) {
    if (!card) return;
    const stop = this.#element.querySelector('.issue-card[tabindex="0"]');
    if (stop !== card) stop?.setAttribute('tabindex', '-1');
    card.tabIndex = 0;
  }

  /** Includes newly added cards. */
  adopt() {
    const cards = [...this.#element.querySelectorAll('.issue-card')];
    for (const card of cards) if (!card.hasAttribute('tabindex')) card.tabIndex = -1;
    if (!cards.some(({ tabIndex }) => tabIndex === 0)) this.roveTo(cards[0]);
  }

  /** Replaces the link with the older cards it leads to. */
  async more(link) {
    const column = link.closest('[data-column]');
    const response = await fetch(link.dataset.more, { headers: { 'HX-Request': 'true' } });
    if (!response.ok || !link.isConnected) return;
    const template = document.createElement('template');
    template.innerHTML = await response.text();
    // A card that has moved in the meantime is already there.
    for (const card of template.content.querySelectorAll('.issue-card')) {
      if (document.getElementById(card.id)) card.remove();
    }
    const came = template.content.querySelectorAll('.issue-card').length;
    column.dataset.hidden = String(Math.max(0, Number(column.dataset.hidden) - came));
    link.replaceWith(template.content);
    this.adopt();
    this.#recount();
  }

  /** Fetches the card a moment later, once for all events of that moment. */
  refresh(id) {
    this.#wanted.add(id);
    setTimeout(() => void this.#fetchWanted(), WAIT_MS);
  }

  /** Moves immediately; the server's answer or refusal has the last word. */
  async move(card, status) {
    const { status: from, issue, changed } = card.dataset;
    if (from === status) return;
    const title = card.querySelector('.card-title').textContent;
    card.dataset.changed = new Date().toISOString();
    this.#put(card, status);
    card.focus();
    const response = await fetch(`/issues/${issue}/move`, {
      method: 'POST',
      headers: { 'HX-Request': 'true', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ status }),
    });
    this.#countLater();
    if (response.ok) this.#show(issue, await response.text());
    else this.#putBack(this.#card(issue) ?? card, from, changed);
    this.#said.textContent = response.ok
      ? t`${title} is now ${this.#card(issue)?.closest('[aria-label]')?.ariaLabel ?? status}`
      : t`${title} could not be moved`;
  }

  onKey(event) {
    const card = event.target.closest('.issue-card');
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!card || !(step || event.key === 'ArrowDown' || event.key === 'ArrowUp')) return;
    event.preventDefault();
    if (step) this.#sideways(card, step, event.shiftKey);
    else (event.key === 'ArrowDown' ? card.nextElementSibling : card.previousElementSibling)?.focus();
  }

  #sideways(card, step, moving) {
    let place = this.#columns.indexOf(card.closest('[data-column]')) + step;
    if (moving) {
      const target = this.#columns[place];
      if (target) void this.move(card, target.dataset.column);
      return;
    }
    while (this.#columns[place] && !this.#columns[place].querySelector('.issue-card')) place += step;
    this.#columns[place]?.querySelector('.issue-card')?.focus();
  }

  async #fetchWanted() {
    while (this.#wanted.size > 0 && this.#running < AT_ONCE) {
      const [id] = this.#wanted;
      this.#wanted.delete(id);
      this.#running += 1;
      try {
        const address = `/issues/${id}/card?${this.#element.dataset.filter}`;
        const response = await fetch(address, { headers: { 'HX-Request': 'true' } });
        // A deleted issue has no card any more; any other failure says nothing about it.
        if (response.ok || response.status === 404) this.#show(id, response.ok ? await response.text() : '');
      } finally {
        this.#running -= 1;
      }
    }
  }

  /** Puts the server's card where it belongs; empty markup removes the card. */
  #show(id, markup) {
    const old = this.#card(id);
    const focused = old !== null && old === document.activeElement;
    const template = document.createElement('template');
    template.innerHTML = markup.trim();
    const fresh = template.content.firstElementChild;
    const stays = fresh && old?.closest('[data-column]')?.dataset.column === fresh.dataset.status;
    if (stays) old.replaceWith(fresh);
    else old?.remove();
    if (fresh) this.#put(fresh, fresh.dataset.status);
    if (fresh && !stays) fresh.dataset.arrived = '';
    // It may have been among the older cards of a column, and a count may have included it before its event came.
    if (!stays) this.#countLater();
    this.adopt();
    if (focused) fresh?.focus();
    this.#recount();
  }

  #countLater() {
    if (this.#counting) return;
    this.#counting = true;
    setTimeout(() => void this.#count(), COUNT_MS);
  }

  async #count() {
    this.#counting = false;
    const { board, filter } = this.#element.dataset;
    const address = `/companies/${board}/board/part/counts?${filter}`;
    const response = await fetch(address, { headers: { 'HX-Request': 'true' } }).catch(() => null);
    if (!response?.ok) return;
    const counts = document.createElement('template');
    counts.innerHTML = await response.text();
    for (const column of this.#columns) {
      const count = counts.content.querySelector(`[data-status="${column.dataset.column}"]`)?.value ?? 0;
      const shown = column.querySelectorAll('.issue-card').length;
      column.dataset.hidden = String(Math.max(0, Number(count) - shown));
    }
    this.#recount();
  }

  #putBack(card, status, changed) {
    card.dataset.changed = changed;
    this.#put(card, status);
  }

  /** Newest changes are at the top, as when the page is loaded. */
  #put(card, status) {
    card.dataset.status = status;
    const cards = this.#element.querySelector(`[data-column="${status}"] .cards`);
    const next = [...(cards?.children ?? [])].find((other) => other !== card && !isNewer(other, card));
    if (cards && (card.parentElement !== cards || card.nextElementSibling !== (next ?? null)))
      cards.insertBefore(card, next ?? null);
    this.#recount();
  }

  #card(id) {
    return document.getElementById(`card-${id}`);
  }

  #recount() {
    for (const column of this.#columns) {
      const shown = column.querySelectorAll('.issue-card').length;
      const count = shown + Number(column.dataset.hidden);
      const heading = column.querySelector('[data-count]');
      heading.dataset.count = String(count);
      heading.textContent = written(count);
      // A column that has had cards stays wide: the others would jump.
      if (count > 0) column.removeAttribute('data-empty');
    }
  }
}

/** Whether it is further up in its column. The link to older cards is always last. */
function isNewer(card, than) {
  if (!card.dataset.issue) return false;
  const [one, other] = [card, than].map(({ dataset }) => [dataset.changed, dataset.issue]);
  return one[0] === other[0] ? one[1] > other[1] : one[0] > other[0];
}

/** Loads older cards when the end of a column scrolls into view. */
function watchEnds(element, board) {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        void board.more(target).then(observe);
      }
    },
    { root: null, rootMargin: '300px' },
  );
  const observe = () => {
    for (const link of element.querySelectorAll('[data-more]')) seen.observe(link);
  };
  observe();
}

function watchDrags(element, board) {
  const columns = [...element.querySelectorAll('[data-column]')];
  let dragged = null;
  element.addEventListener('dragstart', (event) => {
    dragged = event.target.closest('.issue-card');
    if (!dragged) return;
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData('text/plain', dragged.href);
    dragged.dataset.dragged = '';
  });
  element.addEventListener('dragend', () => {
    delete dragged?.dataset.dragged;
    dragged = null;
    for (const column of columns) delete column.dataset.over;
  });
  for (const column of columns) {
    column.addEventListener('dragover', (event) => {
      if (!dragged) return;
      event.preventDefault();
      column.dataset.over = '';
    });
    column.addEventListener('dragleave', (event) => {
      if (!column.contains(event.relatedTarget)) delete column.dataset.over;
    });
    column.addEventListener('drop', (event) => {
      event.preventDefault();
      delete column.dataset.over;
      if (dragged) void board.move(dragged, column.dataset.column);
    });
  }
}

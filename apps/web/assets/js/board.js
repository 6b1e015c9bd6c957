// The board: cards move by themselves while agents work, by drag and drop, and by keyboard.
import { keepPlace, restorePlace, shorten, watchDrags, watchEnds } from './board-columns.js';
import { changedIssues, released } from './changed-issues.js';
import { parsed, request } from './live-parts.js';
import { t, written } from './texts.js';
import { toast } from './feedback.js';

/** A card keeps the focus wherever it goes; the board follows it only if one's own key has moved it. */
const STILL = { preventScroll: true };

export function startBoard() {
  const refresh = changedIssues(async (ids) => board.fetch(ids));
  let board = showBoard(refresh);
  void restorePlace(document.querySelector('[data-board]'), board);
  keepPlace();
  const takeUp = ({ type, data }) => {
    if (type === 'comment_created') refresh(data.issue_id);
    else if (type.startsWith('issue_')) refresh(data.id);
    else if (type === 'company_imported' && data.created.issues > 0) location.reload();
  };
  document.addEventListener('live', ({ detail }) => takeUp(detail));
  document.addEventListener('live-reset', () => location.reload());
  document.addEventListener('filtered', ({ detail: { missed } }) => {
    board = showBoard(refresh);
    for (const event of missed) takeUp(event);
  });
}

function showBoard(refresh) {
  const element = document.querySelector('[data-board]');
  const board = new Board(element, refresh);
  element.addEventListener('keydown', (event) => board.onKey(event));
  element.addEventListener('focusin', ({ target }) => board.roveTo(target.closest('.issue-card')));
  watchEnds(element, board);
  watchDrags(element, board);
  return board;
}

class Board {
  #element;
  #columns;
  #refresh;
  #said = document.getElementById('board-said');
  /** Number of the request whose answer has said how many there are. */
  #counted = 0;
  /** Number of the latest request. */
  #asked = 0;
  /** By issue, the number of the request whose answer is shown: an answer to an earlier one is outdated. */
  #shown = new Map();
  /** By issue, the latest move that is not answered yet. */
  #moves = new Map();
  /** The issue whose card is being dragged. */
  #inHand = null;
  /** Issues that changed while their card was dragged or moved. */
  #missed = new Set();

  /** @param refresh has the card of an issue fetched, soon */
  constructor(element, refresh) {
    this.#element = element;
    this.#refresh = refresh;
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

  /** Replaces the link with the older cards it leads to. @param cards how many; by default a few @returns whether they could be fetched */
  async more(link, cards) {
    const column = link.closest('[data-column]');
    const asked = this.#nextRequest();
    const answer = await request(cards ? `${link.dataset.more}&cards=${cards}` : link.dataset.more);
    if (!answer.ok || !link.isConnected) return answer.ok;
    const template = parsed(answer.text);
    // A card that has moved in the meantime is already there, or no longer on the board.
    for (const card of template.content.querySelectorAll('.issue-card')) {
      const { issue } = card.dataset;
      if (this.#card(issue) || this.#isOutdated(issue, asked)) card.remove();
    }
    const came = template.content.querySelectorAll('.issue-card').length;
    column.dataset.hidden = String(Math.max(0, Number(column.dataset.hidden) - came));
    const next = template.content.firstElementChild ?? link.previousElementSibling;
    const focused = link === document.activeElement;
    link.replaceWith(template.content);
    this.adopt();
    if (focused) next?.focus();
    this.#recount();
    return true;
  }

  /** From now on the card stays as it is: a drag of a node that was replaced would bring that node back. */
  take(issue) {
    this.#inHand = issue;
  }

  letGo() {
    const issue = this.#inHand;
    this.#inHand = null;
    this.#catchUp(issue);
  }

  /** Moves immediately; the server's answer or refusal has the last word. @returns the card, if it is another column */
  move(issue, status) {
    const card = this.#card(issue);
    if (!card || card.dataset.status === status) return undefined;
    const { status: from, changed } = card.dataset;
    const title = card.querySelector('.card-title').textContent;
    card.dataset.changed = new Date().toISOString();
    this.#put(card, status);
    card.focus(STILL);
    const move = { issue, title, status, from, changed, ended: null };
    const earlier = this.#moves.get(issue)?.ended;
    this.#moves.set(issue, move);
    move.ended = this.#carryOut(move, earlier);
    return card;
  }

  /** Moves of one card reach the server in the order in which they were made. */
  async #carryOut(move, earlier) {
    await earlier;
    const { issue, title, status } = move;
    const asked = this.#nextRequest();
    const answer = await request(`/issues/${issue}/move`, {
      method: 'POST',
      body: new URLSearchParams({ status }),
    });
    this.#shown.set(issue, asked);
    const later = this.#moves.get(issue);
    if (later === move) this.#moves.delete(issue);
    if (answer.ok) {
      if (!this.#missed.has(issue)) this.#show(issue, parsed(answer.text).content.firstElementChild, asked);
      this.#said.textContent = t`${title} is now ${this.#card(issue)?.closest('[data-column]')?.ariaLabel ?? status}`;
    } else if (answer.status === 404) {
      this.#show(issue, null, asked);
      this.#tell(t`${title} is no longer on the board`);
    } else {
      if (later === move) this.#putBack(move);
      else Object.assign(later, { from: move.from, changed: move.changed });
      this.#missed.add(issue);
      // The bar says why.
      if (answer.status !== 401) {
        const { reasonOf } = await import('./refusals.js');
        this.#tell(`${t`${title} could not be moved`}: ${reasonOf(answer)}`);
      }
    }
    this.#catchUp(issue);
  }

  /** To everybody: those who see it, and those who hear it. */
  #tell(text) {
    this.#said.textContent = text;
    toast(text, { silent: true });
  }

  onKey(event) {
    const card = event.target.closest('.issue-card, [data-more]');
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!card || !(step || event.key === 'ArrowDown' || event.key === 'ArrowUp')) return;
    event.preventDefault();
    if (step) this.#sideways(card, step, event.shiftKey && card.dataset.issue !== undefined);
    else (event.key === 'ArrowDown' ? card.nextElementSibling : card.previousElementSibling)?.focus();
  }

  #sideways(card, step, moving) {
    let place = this.#columns.indexOf(card.closest('[data-column]')) + step;
    if (moving) {
      if (!card.draggable) return;
      const target = this.#columns[place];
      const moved = target && this.move(card.dataset.issue, target.dataset.column);
      moved?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      return;
    }
    while (this.#columns[place] && !this.#columns[place].querySelector('.issue-card')) place += step;
    this.#columns[place]?.querySelector('.issue-card')?.focus();
  }

  /** Shows the cards of issues that have changed. @returns whether there was an answer */
  async fetch(ids) {
    const asked = this.#nextRequest();
    const { board, filter } = this.#element.dataset;
    const answer = await request(`/companies/${board}/board/part/cards?${filter}&issues=${ids}`);
    if (!answer.ok) return !answer.mayPass;
    await released();
    // Another board may have taken its place since.
    if (!this.#element.isConnected) return true;
    const { content } = parsed(answer.text);
    // A deleted issue has no card any more.
    for (const id of ids) this.#show(id, content.querySelector(`#card-${id}`), asked);
    for (const column of this.#columns) shorten(column, this.#element.dataset);
    this.#count(content, asked);
    return true;
  }

  /** Whether someone here has the card in hand, or has moved it and waits for the answer. */
  #isBusy(id) {
    return id === this.#inHand || this.#moves.has(id);
  }

  #catchUp(id) {
    if (!this.#isBusy(id) && this.#missed.delete(id)) this.#refresh(id);
  }

  #nextRequest() {
    this.#asked += 1;
    return this.#asked;
  }

  #isOutdated(id, asked) {
    return asked < (this.#shown.get(id) ?? 0);
  }

  /** Puts the server's card where it belongs; none removes the card. */
  #show(id, fresh, asked) {
    if (this.#isOutdated(id, asked)) return undefined;
    if (this.#isBusy(id)) return void this.#missed.add(id);
    this.#shown.set(id, asked);
    const old = this.#card(id);
    const focused = old !== null && old === document.activeElement;
    const next = fresh ?? old?.nextElementSibling ?? old?.previousElementSibling;
    const stays = fresh && old?.closest('[data-column]')?.dataset.column === fresh.dataset.status;
    if (stays) old.replaceWith(fresh);
    else old?.remove();
    if (fresh && (stays || !this.#isBeyond(fresh))) this.#put(fresh, fresh.dataset.status);
    if (fresh && !stays) fresh.dataset.arrived = '';
    this.adopt();
    if (focused) next?.focus(STILL);
    this.#recount();
    return undefined;
  }

  #count(content, asked) {
    if (asked < this.#counted) return;
    this.#counted = asked;
    for (const column of this.#columns) {
      const count = content.querySelector(`data[data-status="${column.dataset.column}"]`)?.value ?? 0;
      const shown = column.querySelectorAll('.issue-card').length;
      column.dataset.hidden = String(Math.max(0, Number(count) - shown));
    }
    this.#recount();
  }

  #putBack({ issue, from, changed }) {
    const card = this.#card(issue);
    if (!card) return;
    card.dataset.changed = changed;
    this.#put(card, from);
  }

  /** Newest changes are at the top, as when the page is loaded. */
  #put(card, status) {
    card.dataset.status = status;
    const cards = this.#element.querySelector(`[data-column="${status}"] .cards`);
    const next = [...(cards?.children ?? [])].find((other) => other !== card && !isNewer(other, card));
    const focused = card === document.activeElement;
    if (cards && (card.parentElement !== cards || card.nextElementSibling !== (next ?? null)))
      cards.insertBefore(card, next ?? null);
    if (focused) card.focus(STILL);
    this.#recount();
  }

  /** Whether it is among the older cards that the column does not show. */
  #isBeyond(card) {
    const link = this.#element.querySelector(`[data-column="${card.dataset.status}"] [data-more]`);
    const last = link?.previousElementSibling;
    return Boolean(last) && isNewer(last, card);
  }

  #card(id) {
    return this.#element.querySelector(`#card-${CSS.escape(id)}`);
  }

  #recount() {
    const most = Number(this.#element.dataset.most);
    for (const column of this.#columns) {
      const shown = column.querySelectorAll('.issue-card').length;
      const count = shown + Number(column.dataset.hidden);
      const heading = column.querySelector('[data-count]');
      heading.dataset.count = String(count);
      heading.textContent = count > most ? `${written(most)}+` : written(count);
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

// Parts of a page that refresh when an event concerns them: `data-live="issue:1 runs" data-source="/…"`. What no event reports, such
// as the outcome of a delivery, is marked `data-awaits` within its part, which asks again until the mark is gone. What comes bit by
// bit, such as the lines of a log, gives the mark a value that changes with each: the part then soon asks again.
import { askServer } from './connection.js';

const WAIT_MS = 150;
/** Of what changes again and again, unless the part says otherwise. */
const PACE_MS = 2000;
/** For outcomes; each time twice as long. */
const FIRST_LOOK_MS = 1500;
const LATER_LOOKS_MS = 30_000;
const AWAITING = '[data-source]:has([data-awaits])';
/** What each part awaited the last time, how long it waits now, and the timer of that. */
const looks = new WeakMap();

export function startLiveParts() {
  // What keeps itself up to date, and a text that is being edited.
  htmx.config.morphSkip = '[data-transcript], [data-editing]';
  countInTitle();
  document.addEventListener('live', ({ detail }) => {
    for (const part of document.querySelectorAll('[data-live]')) {
      if (part.dataset.live.split(' ').some((topic) => detail.topics.includes(topic))) void renewLater(part);
    }
  });
  for (const part of document.querySelectorAll('[data-load]')) renew(part);
  for (const part of document.querySelectorAll('[data-source]')) lookAgain(part);
  for (const name of ['live-reset', 'signed-in'])
    document.addEventListener(name, () => {
      for (const part of document.querySelectorAll(`[data-live], ${AWAITING}`)) void renewLater(part);
    });
  // For changes that no stream reports, such as reading something in another tab, and for outcomes that came meanwhile.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible') return;
    for (const part of document.querySelectorAll(`[data-fresh], ${AWAITING}`)) renew(part);
  });
  document.addEventListener('htmx:before:swap', (event) => {
    const { target } = event;
    // Someone may have begun to type during the request.
    if (target.dataset?.source !== undefined && waitsForTyping(target)) event.preventDefault();
    else keepState(target);
  });
  document.addEventListener('click', ({ target }) => {
    const fold = target.closest?.('summary')?.parentElement;
    if (fold?.dataset.whileLive !== undefined) fold.dataset.byHand = '';
  });
  const said = document.createElement('p');
  Object.assign(said, { className: 'sr-only', role: 'status' });
  document.body.append(said);
  document.addEventListener('htmx:after:request', ({ target, detail }) => {
    const { status } = detail.ctx.response;
    const isPart = target.dataset?.source !== undefined && target.closest('main');
    if (isPart && (status >= 400 || document.querySelector('[data-gone]')))
      void import('./gone.js').then(({ tellGone }) => tellGone(status));
  });
  // A request without an answer, such as during a restart, is not the last one.
  document.addEventListener('htmx:finally:request', ({ target, detail }) => {
    if (looks.get(target)?.timer === null) lookAgain(target);
    else if (target.dataset?.live !== undefined) repeatIfLost(target, detail.ctx);
  });
  // Before all who read what is chosen.
  const early = { capture: true };
  const swapped = ({ target }) => {
    restoreState(target);
    tellChange(target, said);
    if (target.dataset?.source !== undefined) lookAgain(target);
    if (target.querySelector('[data-heading]'))
      void import('./read-texts.js').then(({ nameAgain }) => nameAgain(target));
    countInTitle();
    if (target.querySelector('[data-transcript]'))
      void import('./transcript.js').then(({ startTranscripts }) => startTranscripts(target));
  };
  document.addEventListener('htmx:after:swap', swapped, early);
}

const failures = new WeakMap();

/** No other event may tell of what could not be had, each time after twice as long. */
function repeatIfLost(part, { status, response }) {
  if (!status.startsWith('error') && !mayPassLater(response.status)) return failures.delete(part);
  const failed = failures.get(part) ?? 0;
  failures.set(part, failed + 1);
  const wait = Math.min(FIRST_LOOK_MS * 2 ** failed, LATER_LOOKS_MS);
  return setTimeout(() => failures.has(part) && void renewLater(part), wait);
}

const due = new Set();
const asked = new WeakMap();
let next = 0;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/**
 * Once for all calls until then: soon, but at its own pace. Of all parts of the page, forty pass at once, then two a second: a reader's
 * requests are limited, and what changes again and again is shown a few seconds later.
 */
export async function renewLater(part) {
  if (due.has(part)) return;
  due.add(part);
  // In the background only the number that the title shows remains true.
  if (!part.matches('.account .count')) await looked();
  const again = (asked.get(part) ?? 0) + Number(part.dataset.pace ?? PACE_MS);
  await pause(Math.max(WAIT_MS, again - Date.now()));
  next = Math.max(next + 500, Date.now() - 20_000);
  await pause(Math.max(0, next - Date.now()));
  due.delete(part);
  asked.set(part, Date.now());
  renew(part);
}

/** Somebody sees the page. */
async function looked() {
  while (document.visibilityState !== 'visible')
    await new Promise((done) => document.addEventListener('visibilitychange', done, { once: true }));
}

/** Only while somebody looks at the page: a tab in the background waits as long as need be. One look is due at a time. */
function lookAgain(part) {
  const before = looks.get(part);
  clearTimeout(before?.timer);
  const mark = part.querySelector('[data-awaits]')?.dataset.awaits;
  if (mark === undefined) {
    // What somebody was told to do for it has been done.
    if (before) part.parentElement.querySelector(':scope > [data-meanwhile]')?.remove();
    return looks.delete(part);
  }
  const wait = before?.mark === mark ? Math.min(2 * before.wait, LATER_LOOKS_MS) : FIRST_LOOK_MS;
  const look = { mark, wait };
  look.timer = setTimeout(() => {
    look.timer = null;
    if (document.visibilityState === 'visible') renew(part);
    else if (part.isConnected) lookAgain(part);
  }, wait);
  return looks.set(part, look);
}

function renew(part) {
  if (!part.isConnected || waitsForTyping(part)) return;
  // During a request htmx queues at most one more; an error leaves the part as it is. What has not changed stays, with what is
  // selected in it and its place under the eye.
  void htmx.ajax('GET', part.dataset.source, { source: part, target: part, swap: 'innerMorph' });
}

/** Never discards typed text: the part waits until the focus has left it; until then only its read-only text is refreshed. */
function waitsForTyping(part) {
  const { activeElement } = document;
  const focused = part.contains(activeElement) && activeElement.matches('input, textarea, select');
  // Also keeps text that was typed and left: the part is refreshed once the form is sent or emptied.
  if (!focused && !hasTyping(part)) return false;
  part.addEventListener('focusout', renewLeft, { once: true });
  if (part.querySelector('[data-reads]'))
    void import('./read-texts.js').then(({ renewText }) => renewText(part));
  return true;
}

/** One for all calls until then. */
const renewLeft = ({ currentTarget: part }) => void renewLater(part);

/** Whether any field differs from its initial value. */
export function hasTyping(part) {
  const fields = part.querySelectorAll('textarea, input:not([type=checkbox], [type=radio], [type=hidden])');
  return [...fields].some((field) => field.value !== field.defaultValue);
}

/** Puts the number of waiting items at the start of the title, which is what tabs show. */
function countInTitle() {
  const waits = Number(document.querySelector('.account .count')?.textContent ?? 0);
  const name = document.title.replace(/^\(\d+\) /, '');
  document.title = waits > 0 ? `(${waits}) ${name}` : name;
  if (localStorage.getItem('notices') === 'on')
    void import('./notices.js').then(({ announceMore }) => announceMore(waits));
}

// Keeps folds, choices and focus as the reader left them.
const states = new WeakMap();

const foldsOf = (part) => [...part.querySelectorAll('details')];
/** Identifies a fold across renderings: by what it belongs to, or else by its position. */
const nameOf = (details, index) => {
  const { fold, seq } = details.dataset;
  const run = details.closest('[data-transcript]')?.dataset.transcript ?? '';
  return fold ?? (seq === undefined ? `place ${index}` : `${run} ${seq}`);
};
const selectorOf = (element) => {
  for (const name of ['id', 'href', 'action', 'name', 'data-fold']) {
    const value = element.getAttribute(name);
    if (value) return `${element.localName}[${name}="${CSS.escape(value)}"]`;
  }
  return null;
};

/** Where to find the element in the next rendering: by itself, or within the nearest element that has a name. */
export function placeOf(part, element) {
  let named = element;
  while (named !== part && selectorOf(named) === null) named = named.parentElement;
  if (named === part) return null;
  const selector = selectorOf(named);
  const kind = element === named ? null : element.localName;
  return {
    selector,
    at: [...part.querySelectorAll(selector)].indexOf(named),
    kind,
    within: kind === null ? 0 : [...named.querySelectorAll(kind)].indexOf(element),
  };
}

export function elementAt(part, { selector, at, kind, within }) {
  const named = part.querySelectorAll(selector)[at];
  return kind === null ? named : named?.querySelectorAll(kind)[within];
}

/** Whether somebody reads here rather than follow the end: has scrolled back, selected text, or is in it with the keyboard. */
function isRead(details) {
  const transcript = details.querySelector('[data-transcript]');
  const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = transcript ?? {};
  const selection = getSelection();
  return (
    details.dataset.byHand !== undefined ||
    scrollHeight - scrollTop - clientHeight > 40 ||
    transcript?.contains(document.activeElement) ||
    (!selection.isCollapsed && details.contains(selection.anchorNode))
  );
}

/** As the next rendering finds it. @property {boolean} ends it is open only while its run is live, and nobody reads in it */
const stateOf = (details) => ({
  open: details.open,
  byHand: details.dataset.byHand,
  ends: details.dataset.whileLive !== undefined && !isRead(details),
  scrolled: isRead(details) ? details.querySelector('[data-transcript]')?.scrollTop : undefined,
});

function takeState(details, was) {
  if (was === undefined || (was.ends && details.dataset.whileLive === undefined)) return;
  details.open = was.open;
  if (was.byHand !== undefined) details.dataset.byHand = was.byHand;
  const transcript = details.querySelector('[data-transcript]');
  if (transcript && was.scrolled !== undefined) transcript.dataset.readAt = was.scrolled;
}

const toldBy = (part) => part.querySelector('[data-told]')?.textContent.trim();

/** What a screen reader is told of a part that has changed: the state marked `data-told`, such as that the run has ended. */
function tellChange(part, said) {
  const now = toldBy(part);
  if (now && now !== states.get(part)?.told)
    said.textContent = `${document.querySelector('h1').textContent}: ${now}`;
}

export function keepState(part) {
  const { activeElement } = document;
  states.set(part, {
    anchors: anchorsOf(part),
    aside: part.querySelector('.scroll-x')?.scrollLeft ?? 0,
    told: toldBy(part),
    open: new Map(foldsOf(part).map((details, index) => [nameOf(details, index), stateOf(details)])),
    chosen: new Set([...part.querySelectorAll('[data-pick]:checked')].map(({ value }) => value)),
    focus: activeElement !== part && part.contains(activeElement) ? placeOf(part, activeElement) : null,
  });
}

export function restoreState(part) {
  const {
    open = new Map(),
    chosen = new Set(),
    focus = null,
    anchors = [],
    aside = 0,
  } = states.get(part) ?? {};
  foldsOf(part).forEach((details, index) => {
    takeState(details, open.get(nameOf(details, index)));
  });
  // What somebody chose there has been sent: the stored value counts.
  for (const form of part.querySelectorAll('form[data-autosubmit]')) form.reset();
  // A box may be that of another row now.
  for (const box of part.querySelectorAll('[data-pick]')) box.checked = chosen.has(box.value);
  if (focus) elementAt(part, focus)?.focus({ preventScroll: true });
  if (aside > 0) part.querySelector('.scroll-x')?.scrollTo({ left: aside });
  const anchor = anchors.find(({ selector }) => part.querySelector(selector));
  if (anchor) scrollBy({ top: topOf(part.querySelector(anchor.selector)) - anchor.top, behavior: 'instant' });
}

const topOf = (element) => element.getBoundingClientRect().top;

/**
 * What stays where it is while rows come and go above it: the row of who is in it with the keyboard or the pointer, and otherwise the
 * first one in sight that is still there. Each is known by a link that is the only one to its place. The browser can't keep it, since it
 * is replaced. Nobody is in a row, and the part's beginning is in sight: there new rows are seen coming.
 */
function anchorsOf(part) {
  const hand = [document.activeElement, part.querySelector(':is(li, tr):hover')].find((each) =>
    part.contains(each),
  );
  const own = hand?.closest('li, tr');
  if (topOf(part) >= 0 && !own?.contains(document.activeElement)) return [];
  const links = [...part.querySelectorAll('a[href]')];
  const counts = Map.groupBy(links, (link) => link.getAttribute('href'));
  const isAnchor = (link) =>
    counts.get(link.getAttribute('href')).length === 1 &&
    topOf(link) >= 0 &&
    topOf(link) < innerHeight &&
    link.checkVisibility();
  const inSight = links.filter(isAnchor);
  return [...inSight.filter((link) => own?.contains(link)), ...inSight].map((link) => ({
    selector: selectorOf(link),
    top: topOf(link),
  }));
}

const mayPassLater = (status) => status === 429 || status >= 500;

/** What has not been answered by then has failed. */
const LONGEST_REQUEST_MS = 30_000;

/**
 * Requests a fragment of a page, as htmx does. @returns `status` is 0 if there was no answer; `mayPass` if the same request may succeed
 * later, not before `wait_ms` if the answer says so
 */
export async function request(path, options = {}) {
  try {
    const response = await askServer(path, { ...options, signal: AbortSignal.timeout(LONGEST_REQUEST_MS) });
    const { status, redirected, headers } = response;
    // Elsewhere is another page.
    const ok = status === 200 && !redirected;
    const mayPass = status === 401 || mayPassLater(status);
    const wait_ms = 1000 * (Number(headers.get('Retry-After')) || 0);
    return { ok, status, mayPass, wait_ms, text: await response.text() };
  } catch {
    return { ok: false, status: 0, mayPass: true, wait_ms: 0, text: '' };
  }
}

/** The markup of an answer, not on the page yet. */
export function parsed(markup) {
  const template = document.createElement('template');
  template.innerHTML = markup;
  return template;
}

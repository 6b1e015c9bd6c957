// Says when the service cannot be reached or the session has ended, and keeps forms on the page until that is over: a form sent to
// a service that is being restarted would leave the person with the browser's error page, and without what was typed.
import { t } from './texts.js';
import { keepClear, tell, toast } from './feedback.js';

/** Proxies end long streams, which are then reopened within a few seconds: no reason to alarm anyone. */
const SAID_AFTER_MS = 8000;
const LONGEST_PROBE_MS = 5000;
const NEXT_PROBE_MS = 3000;

let isOpen = true;
let isSignedOut = false;
let timer;
/** The bar at the lower edge. */
let bar = null;
/** Says that a form was not sent. */
let unsent = null;

export function startConnection() {
  document.addEventListener('live-closed', () => {
    isOpen = false;
    timer ??= setTimeout(() => void sayIfLost(), SAID_AFTER_MS);
  });
  document.addEventListener('live-open', () => {
    isOpen = true;
    clearTimeout(timer);
    timer = undefined;
    if (isSignedOut) void lookAgain();
    else reached();
  });
  document.addEventListener('htmx:after:request', ({ detail }) => heed(detail.ctx.response.raw));
  // Who is back from another tab may have signed in there.
  for (const [name, on] of [
    ['visibilitychange', document],
    ['focus', window],
  ])
    on.addEventListener(name, () => {
      if (isSignedOut && document.visibilityState === 'visible') void lookAgain();
    });
  document.addEventListener('submit', (event) => {
    const { target: form, submitter } = event;
    // While the stream is open, so is the way to the service: nothing is asked in advance.
    if (event.defaultPrevented || (isOpen && !isSignedOut && navigator.onLine)) return;
    // The properties would be fields of those names.
    if (form.getAttribute('method') !== 'post' || form.getAttribute('action') === '/logout') return;
    if (sendsNow.delete(form)) return;
    event.preventDefault();
    void sendIfReached(form, submitter);
  });
}

/** A request for a part of a page, as htmx makes them: its answer tells whether the page is still in touch. */
export async function askServer(path, options = {}) {
  const headers = { 'HX-Request': 'true', ...options.headers };
  const response = await fetch(path, { ...options, headers });
  heed(response);
  return response;
}

function heed({ ok, status }) {
  if (status === 401) signedOut();
  else if (ok && isSignedOut) void lookAgain();
  else if (ok) reached();
}

/** What was said about a service that is away is over. */
function reached() {
  unsent?.remove();
  unsent = null;
  if (!isSignedOut) showBar(null);
}

async function sayIfLost() {
  const isLost = !(await isReached());
  timer = undefined;
  if (isOpen) return;
  // A stream also ends with the session, and with the membership.
  if (!isLost) await Promise.all([lookAgain(), sayIfGone()]);
  else if (bar === null)
    showBar(t`Not connected. This page catches up by itself as soon as the service can be reached again.`);
}

/** Says that the reader may not see the page's company any more, of which nothing but the stream tells. */
async function sayIfGone() {
  const { company } = document.body.dataset;
  if (company === 'instance') return;
  const signal = AbortSignal.timeout(LONGEST_PROBE_MS);
  const headers = { accept: 'application/json' };
  const answer = await fetch(`/companies/${company}`, { headers, signal }).catch(() => null);
  if (answer?.status === 404) (await import('./gone.js')).tellGone(404);
}

/** The page stays as it is, with all that was typed: signing in, here or in another tab, is enough to go on. */
function signedOut() {
  if (isSignedOut) return;
  isSignedOut = true;
  const link = document.createElement('a');
  const { pathname, search } = location;
  link.href = `/login?next=${encodeURIComponent(pathname + search)}`;
  link.textContent = t`Sign in`;
  showBar(t`You are signed out. What you typed is still here.`, link);
}

/** Asks who is signed in: nobody, the person whose page this is, or another one, to whom it does not belong. */
async function lookAgain() {
  const signal = AbortSignal.timeout(LONGEST_PROBE_MS);
  const answer = await fetch('/api/me', { cache: 'no-store', signal }).catch(() => null);
  if (answer?.status === 401) return signedOut();
  if (!isSignedOut || !answer?.ok || (await answer.json()).id !== document.body.dataset.user)
    return undefined;
  isSignedOut = false;
  reached();
  document.dispatchEvent(new CustomEvent('signed-in'));
  return undefined;
}

function showBar(text, link) {
  // What was said of it is not true any more, for those who read on either.
  if (bar) tell('');
  bar?.remove();
  bar = null;
  if (text === null) return;
  bar = document.createElement('p');
  bar.className = 'offline';
  bar.append(text, ...(link ? [' ', link] : []));
  document.body.append(bar);
  keepClear(bar, '--bar');
  tell(text);
}

/** Forms whose next submission goes through. */
const sendsNow = new WeakSet();

async function sendIfReached(form, submitter) {
  if (!(await isReached())) {
    unsent = toast(
      t`The service cannot be reached. Nothing was sent, and what you typed is still here: try again in a moment.`,
    );
    return takeBack(unsent);
  }
  await lookAgain();
  if (isSignedOut)
    return void toast(
      t`You are signed out. Nothing was sent, and what you typed is still here: sign in first.`,
    );
  sendsNow.add(form);
  // Answered already.
  const { confirm: question } = form.dataset;
  delete form.dataset.confirm;
  form.requestSubmit(submitter);
  if (question !== undefined) form.dataset.confirm = question;
  return undefined;
}

/** The note is true no longer than the service is away. */
async function takeBack(note) {
  while (note.isConnected) {
    await new Promise((resolve) => setTimeout(resolve, NEXT_PROBE_MS));
    if (await isReached()) note.remove();
  }
}

async function isReached() {
  try {
    const signal = AbortSignal.timeout(LONGEST_PROBE_MS);
    const { status } = await fetch('/healthz', { cache: 'no-store', signal });
    // 503 by the service itself while it stops; all three by a proxy in front of it.
    return ![502, 503, 504].includes(status);
  } catch ({ name }) {
    // Slow is not away: the form waits for its own answer.
    return name === 'TimeoutError';
  }
}

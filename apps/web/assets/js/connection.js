// Says when the service cannot be reached, and keeps forms on the page until it can: a form sent to a service that is being
// restarted would leave the person with the browser's error page, and without what was typed.
import { t } from './texts.js';
import { toast } from './feedback.js';

/** Proxies end long streams, which are then reopened within a few seconds: no reason to alarm anyone. */
const SAID_AFTER_MS = 8000;
const LONGEST_PROBE_MS = 5000;

let isOpen = true;
let timer;
let note = null;

export function startConnection() {
  document.addEventListener('live-closed', () => {
    isOpen = false;
    timer ??= setTimeout(() => void sayIfLost(), SAID_AFTER_MS);
  });
  document.addEventListener('live-open', () => {
    isOpen = true;
    clearTimeout(timer);
    timer = undefined;
    note?.remove();
    note = null;
  });
  document.addEventListener('submit', (event) => {
    const { target: form, submitter } = event;
    // While the stream is open, so is the way to the service: nothing is asked in advance.
    if (event.defaultPrevented || (isOpen && navigator.onLine)) return;
    // The property would be a field of that name.
    if (form.getAttribute('method') !== 'post') return;
    if (sendsNow.delete(form)) return;
    event.preventDefault();
    void sendIfReached(form, submitter);
  });
}

/** A stream also ends with the session: then the next act leads to the sign-in. */
async function sayIfLost() {
  const isLost = !(await isReached());
  timer = undefined;
  if (isOpen || !isLost || note !== null) return;
  note = document.createElement('p');
  note.className = 'offline';
  note.setAttribute('role', 'status');
  note.textContent = t`Not connected. This page catches up by itself as soon as the service can be reached again.`;
  document.body.append(note);
}

/** Forms whose next submission goes through. */
const sendsNow = new WeakSet();

async function sendIfReached(form, submitter) {
  if (!(await isReached()))
    return toast(
      t`The service cannot be reached. Nothing was sent, and what you typed is still here: try again in a moment.`,
    );
  sendsNow.add(form);
  // Answered already.
  const { confirm: question } = form.dataset;
  delete form.dataset.confirm;
  form.requestSubmit(submitter);
  if (question !== undefined) form.dataset.confirm = question;
  return undefined;
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

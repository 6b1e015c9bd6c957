// Makes the pages live: the event stream, parts that refresh themselves, forms that need no button.
// Everything here is an enhancement: without it each act works as a plain form post.
import { busy, startToasts } from './feedback.js';
import { startAutosubmit, startKeys } from './keys.js';
import { askServer, startConnection } from './connection.js';
import { startLive } from './live.js';
import { startLiveParts } from './live-parts.js';
import { t } from './texts.js';

document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

// Nothing that somebody typed is left in the tab for whoever signs in next.
document.addEventListener('submit', ({ target }) => {
  if (target.getAttribute('action') === '/logout') sessionStorage.clear();
});

// Acts whose effect arrives by the live stream: the page stays where it is.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.dataset.quiet === undefined) return;
  event.preventDefault();
  closeMenu(form);
  void askServer(form.action, { method: 'POST' })
    .then(({ ok, status }) => ok || status === 401 || form.submit())
    .catch(() => form.submit());
});

/** The choice is made. */
function closeMenu(form) {
  const menu = form.closest('[data-menu]');
  if (!menu) return;
  menu.open = false;
  menu.querySelector('summary').focus({ preventScroll: true });
}

// A form that is being sent says so, and is not sent twice: its button is busy until the next page is there.
/** Longer than any answer takes. */
const LONGEST_MS = 60_000;
const sending = new Map();
// On the window, after all who may prevent it or send the form themselves.
addEventListener('submit', (event) => {
  const { target: form, submitter } = event;
  if (event.defaultPrevented || form.getAttribute('target') || form.dataset.autosubmit !== undefined) return;
  if (sending.has(form)) return event.preventDefault();
  const button = submitter ?? form.querySelector('button:not([type=button])');
  if (!button) return;
  const { activeElement: focused } = document;
  const sent = { timer: setTimeout(() => restore(form), LONGEST_MS), rest: () => {} };
  sending.set(form, sent);
  // Later: a button that is disabled now would not be sent with its form.
  setTimeout(() => {
    if (sending.get(form) === sent) sent.rest = busy(button, focused);
  });
});
// Also a page that the browser had put aside while its form was on its way.
addEventListener('pageshow', () => {
  for (const form of sending.keys()) restore(form);
});

function restore(form) {
  const { timer, rest } = sending.get(form);
  sending.delete(form);
  clearTimeout(timer);
  rest();
}

// A file that is dropped beside what takes it would replace the page.
for (const name of ['dragover', 'drop']) {
  addEventListener(name, (event) => {
    const isFile = event.dataTransfer?.types.includes('Files') ?? false;
    if (event.defaultPrevented || !isFile || event.target.closest?.('input[type=file]')) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'none';
  });
}

document.addEventListener('pointerover', ({ target }) => {
  const code = target.closest?.('.markdown pre');
  if (code) void import('./copying.js').then(({ offerCopy }) => offerCopy(code));
});

for (const name of ['focusin', 'click'])
  document.addEventListener(name, ({ target }) => {
    if (!target.dataset?.choices) return;
    // At once: what is typed while the script loads replaces the name.
    if (target.value === target.defaultValue) target.select();
    void import('./choice.js').then(({ offerChoices }) => offerChoices(target, name));
  });

document.addEventListener('input', ({ target }) => {
  const form = target.closest?.('form[role=search][data-autosubmit]');
  if (form && target.type === 'search')
    void import('./filtering.js').then(({ filterLater }) => filterLater(form));
});

/** What happens to a form that is posted, before and after. Most boards never need it. */
const POSTS = 'main form[method=post]';
const hasForms = () => (shows(POSTS) && !shows('[data-board]')) || isAnswered();
const isAnswered = () => ['left', 'draft sent'].some((key) => sessionStorage.getItem(key) !== null);
let starting = null;
const startForms = () =>
  (starting ??= import('./returning.js').then(async ({ startReturning, standAgain }) => {
    (await import('./drafts.js')).startDrafts();
    startReturning();
    return standAgain;
  }));

// A click of the pointer or the keyboard, which comes before the fold: a group that a page opens by itself is not remembered.
document.querySelector('.sections')?.addEventListener('click', ({ target }) => {
  const group = target.closest('summary')?.parentElement;
  if (!group) return;
  remember(group.dataset.section, !group.open);
});

// At once: somebody may leave the page as soon as a group is folded. The next pages are rendered like that, without a flicker.
function remember(section, open) {
  const entry = document.cookie.split('; ').find((each) => each.startsWith('service_sections=')) ?? '=';
  const names = new Set(entry.split('=')[1].split('.').filter(Boolean));
  if (open) names.add(section);
  else names.delete(section);
  document.cookie = `service_sections=${[...names].join('.')}; path=/; max-age=31536000; samesite=lax`;
}

// `toggle` does not bubble.
document.addEventListener(
  'toggle',
  ({ target }) => {
    if (target.open && target.dataset.text) void import('./folded.js').then(({ unfold }) => unfold(target));
  },
  { capture: true },
);

// Keeps `3 min ago` true while the page is open.
const UNITS = [
  [86_400, (count) => t`${count} d`],
  [3600, (count) => t`${count} h`],
  [60, (count) => t`${count} min`],
  [1, (count) => t`${count} s`],
];
const LONG_AGO_SEC = 30 * 86_400;
setInterval(() => {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    // Older than this it is a date, which stays true by itself.
    if (seconds >= LONG_AGO_SEC) continue;
    const [size, said] = UNITS.find(([length]) => seconds >= length) ?? UNITS.at(-1);
    time.textContent = seconds < 10 ? t`just now` : t`${said(Math.floor(seconds / size))} ago`;
  }
}, 20_000);

document.addEventListener('pointerover', ({ target }) => {
  const time = target.closest?.('time[datetime]:not([data-clock])');
  if (time) void import('./clock.js').then(({ addClock }) => addClock(time));
});

// A refused form may be far down the page: leads to its first faulty field, or to what is said about it. So may what a form has done.
const fault = document.querySelector('main [aria-invalid=true], main .form-error, main [data-outcome] > *');
if (fault) {
  for (let fold = fault.closest('details'); fold; fold = fold.parentElement.closest('details'))
    fold.open = true;
  if (!fault.matches('input, select, textarea')) fault.tabIndex = -1;
  fault.focus();
}

document.documentElement.dataset.script = 'on';
// The sections may be taller than the window: each page begins with its own in sight.
const section = document.querySelector('.side [aria-current]');
const side = section?.closest('.side');
if (side) side.scrollTop = Math.max(0, section.offsetTop - side.clientHeight / 2);
const shows = (selector) => document.querySelector(selector) !== null;
// Pages without them skip the request. They start before the stream, so that they get its first events too.
if (shows('[data-board]')) (await import('./board.js')).startBoard();
if (shows('[data-preview]')) (await import('./preview-form.js')).startPreviews();
if (shows('[data-download]')) (await import('./download.js')).startDownloads();
if (shows('[data-chooses]')) (await import('./choosing.js')).startChoosing();
if (shows('[data-new-issues]')) (await import('./issue-list.js')).startIssueList();
if (shows('[data-composer]')) void (await import('./composer.js')).startComposers();
if (shows('[data-chat], .chat-list')) (await import('./chat.js')).startChat();
if (shows('[data-schedule]')) (await import('./schedule.js')).startSchedules();
if (shows('.org')) (await import('./org-chart.js')).startOrgChart();
if (shows('.diff')) (await import('./diff.js')).startDiff();
if (shows('[data-reads-issue]')) (await import('./reading.js')).startReading();
if (shows('[data-notices]')) (await import('./notices.js')).startNotices();
if (shows('[data-transcript]')) (await import('./transcript.js')).startTranscripts(document);
const standAgain = hasForms() ? await startForms() : null;
if (!standAgain)
  for (const name of ['focusin', 'pointerdown'])
    document.addEventListener(name, ({ target }) => void (target.closest?.(POSTS) && startForms()));
startToasts();
startAutosubmit();
startKeys();
startLiveParts();
const { company, cursor } = document.body.dataset;
startConnection();
if (company) startLive(company, Number(cursor));
standAgain?.();
// Keys and clicks are handled from here on.
document.documentElement.dataset.script = 'ready';

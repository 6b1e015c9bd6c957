// What makes the pages live: one event stream per page, parts that renew themselves, forms that need no button.
// Everything here is an addition: each act works as a plain form post without it.
import { startBoard } from './board.js';
import { startTranscripts } from './transcript.js';

/** Topics that an event is about: `issues`, `issue:<id>`; `agents`, `runs`, `approvals` and theirs. */
function topicsOf(type, data) {
  if (type.startsWith('issue_')) return ['issues', `issue:${data.id}`];
  if (type === 'comment_created') return ['comments', `issue:${data.issue_id}`];
  if (type === 'agent_updated') return ['agents', `agent:${data.id}`];
  if (type.startsWith('approval_')) return ['approvals', `approval:${data.id}`];
  if (type.startsWith('heartbeat_')) {
    return [
      'runs',
      `run:${data.id}`,
      `agent:${data.agent_id}`,
      ...(data.issue_id ? [`issue:${data.issue_id}`] : []),
    ];
  }
  return [type];
}

const NAMES = [
  'heartbeat_started',
  'heartbeat_completed',
  'issue_created',
  'issue_updated',
  'issue_deleted',
  'comment_created',
  'agent_updated',
  'approval_created',
  'approval_resolved',
  'budget_incident',
  'run_event',
  'notification',
];

function openStream(company) {
  const source = new EventSource(`/api/live/events?company_id=${company}`);
  for (const name of NAMES) {
    source.addEventListener(name, (event) => {
      const { data } = JSON.parse(event.data);
      document.dispatchEvent(
        new CustomEvent('live', { detail: { type: name, data, topics: topicsOf(name, data) } }),
      );
    });
  }
  // Too much was missed: the page as a whole is stale.
  source.addEventListener('reset', () => location.reload());
  addEventListener('pagehide', () => source.close());
}

// Parts renew themselves when an event is about them: `data-live="issue:1 runs" data-source="/…"`.
const WAIT_MS = 150;
const due = new Map();

function renewLater(part) {
  if (due.has(part)) return;
  due.set(
    part,
    setTimeout(() => {
      due.delete(part);
      renew(part);
    }, WAIT_MS),
  );
}

function renew(part) {
  // Nobody's typing is thrown away: the part renews once the focus has left it.
  if (part.contains(document.activeElement) && document.activeElement.matches('input, textarea, select')) {
    part.addEventListener('focusout', () => renewLater(part), { once: true });
    return;
  }
  // While an answer is under way htmx keeps at most one further request; an error leaves the part as it is.
  void htmx.ajax('GET', part.dataset.source, { source: part, target: part, swap: 'innerHTML' });
}

// What the reader has unfolded stays unfolded.
const unfolded = new WeakMap();
const foldsOf = (part) => [...part.querySelectorAll('details')];

document.addEventListener('htmx:beforeSwap', ({ target }) => {
  unfolded.set(
    target,
    foldsOf(target).map((details) => details.open),
  );
});

document.addEventListener('htmx:afterSwap', ({ target }) => {
  const open = unfolded.get(target);
  const folds = foldsOf(target);
  if (folds.length === open?.length) folds.forEach((details, index) => (details.open = open[index]));
  startTranscripts(target);
});

document.addEventListener('live', ({ detail }) => {
  for (const part of document.querySelectorAll('[data-live]')) {
    if (part.dataset.live.split(' ').some((topic) => detail.topics.includes(topic))) renewLater(part);
  }
});

document.addEventListener('submit', (event) => {
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

document.addEventListener('change', (event) => {
  event.target.closest('form[data-autosubmit]')?.requestSubmit();
});

// `3 min ago` stays true while the page is open.
const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];
const LONG_AGO_SEC = 30 * 86_400;
setInterval(() => {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    // From then on it is a date, which stays true by itself.
    if (seconds >= LONG_AGO_SEC) continue;
    const [size, unit] = UNITS.find(([length]) => seconds >= length) ?? [1, 's'];
    time.textContent = seconds < 10 ? 'just now' : `${Math.floor(seconds / size)} ${unit} ago`;
  }
}, 20_000);

document.documentElement.dataset.script = 'on';
startBoard();
startTranscripts(document);
if (document.body.dataset.company) openStream(document.body.dataset.company);

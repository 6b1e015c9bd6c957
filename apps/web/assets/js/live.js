// Live updates of an open page: each event of its company becomes a `live` event of the document; `live-open` means that
// transcripts may have a gap, `live-closed` that nothing arrives for now, `live-reset` that too much was missed to be replayed.

/** Topics of an event: `issues`, `issue:<id>`, and likewise for `agents`, `runs` and `approvals`. */
function topicsOf(type, data) {
  if (type.startsWith('issue_')) return ['issues', `issue:${data.id}`];
  if (type === 'comment_created') return ['comments', `issue:${data.issue_id}`];
  if (type === 'plugin_state') return ['plugins', `plugin:${data.id}`];
  if (type === 'agent_updated') return ['agents', `agent:${data.id}`];
  if (type.startsWith('approval_'))
    return ['approvals', `approval:${data.id}`, ...(data.issue_id ? [`approvals:${data.issue_id}`] : [])];
  if (type.startsWith('heartbeat_')) {
    return [
      'runs',
      `run:${data.id}`,
      `agent:${data.agent_id}`,
      ...(data.issue_id ? [`issue:${data.issue_id}`] : []),
    ];
  }
  // Once per turn: its parts arrive too often for a page to send a request each time.
  if (type === 'run_event' && data.kind === 'prompt') return [type, `turns:${data.run_id}`];
  if (type === 'chat_message') return ['chats', `chat:${data.chat_id}`];
  if (type === 'compiled_index_updated') return ['knowledge'];
  if (type === 'evolution_updated') return [`agent:${data.agent_id}`];
  if (type === 'council_updated') return [`council:${data.id}`, `council_sessions:${data.issue_id}`];
  if (type === 'worker_updated') return ['workers'];
  if (type === 'company_imported') return importedLists(data.created);
  return [type];
}

/** The lists that an import has added to; it has no other events. */
const importedLists = ({ issues, agents, notes, budget_policies }) => [
  ...(issues > 0 ? ['issues', 'comments'] : []),
  ...(agents > 0 ? ['agents'] : []),
  ...(notes > 0 ? ['knowledge'] : []),
  ...(budget_policies > 0 ? ['budget_incident'] : []),
];

/** Runs whose transcripts the page shows. */
const runsShown = () =>
  [...document.querySelectorAll('[data-transcript]')].map(({ dataset }) => dataset.transcript);

const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

/** @param cursor the last event included in the rendered page */
export function startLive(company, cursor) {
  let seen = cursor;
  const take = (frame) => {
    if (frame.kind === 'open' || frame.kind === 'closed') return tell(`live-${frame.kind}`);
    if (frame.kind === 'reset') {
      seen = frame.after;
      return tell('live-reset');
    }
    const { seq, type, data } = frame;
    if (seq > 0 && seq <= seen) return undefined;
    seen = Math.max(seen, seq);
    return tell('live', { type, data, topics: topicsOf(type, data) });
  };
  const alone = () => {
    connection = ownStream(take);
    if (document.visibilityState === 'visible') connect();
  };
  let connection = globalThis.SharedWorker ? sharedStream(take, alone) : ownStream(take);
  const { user } = document.body.dataset;
  const connect = () => void connection.attach({ company, user, after: seen, runs: runsShown() });
  connect();
  document.addEventListener('signed-in', connect);
  // A tab that is restored from the cache, or shown again, requests what it has missed.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') connect();
    else connection.hidden();
  });
  addEventListener('pageshow', ({ persisted }) => persisted && connect());
  addEventListener('pagehide', () => connection.leave());
  document.addEventListener('transcripts', () => connection.shows(runsShown()));
}

/** The stream shared by all tabs. @param failed called if the browser can't run the worker */
function sharedStream(take, failed) {
  const worker = new SharedWorker(new URL('live-worker.js', import.meta.url), {
    type: 'module',
    name: 'live',
  });
  const { port } = worker;
  worker.addEventListener('error', failed);
  port.addEventListener('message', ({ data }) => take(data));
  port.start();
  return {
    attach: (wanted) => port.postMessage({ act: 'attach', ...wanted }),
    shows: (runs) => port.postMessage({ act: 'shows', runs }),
    // Stays attached: counts and titles of background tabs remain true.
    hidden: () => undefined,
    leave: () => port.postMessage({ act: 'leave' }),
  };
}

/** For browsers without shared workers: a stream while the tab is visible. */
function ownStream(take) {
  let stream = null;
  let attached = 0;
  const leave = () => {
    attached += 1;
    stream?.close();
    stream = null;
  };
  return {
    attach: async ({ company, after }) => {
      leave();
      const mine = attached;
      // Browsers with the worker never need it here.
      const { LiveStream } = await import('./live-stream.js');
      if (mine === attached) stream = new LiveStream(company, after, take);
    },
    shows: () => undefined,
    hidden: leave,
    leave,
  };
}

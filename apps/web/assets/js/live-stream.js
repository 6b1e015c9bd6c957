// One event stream of a company. It reopens itself whatever ended it, and resumes at its position.

/** The named events that the service sends to pages. */
const NAMES = [
  'heartbeat_started',
  'heartbeat_completed',
  'issue_created',
  'issue_updated',
  'issue_deleted',
  'comment_created',
  'agent_created',
  'agent_updated',
  'project_created',
  'approval_created',
  'approval_resolved',
  'budget_incident',
  'budget_breached',
  'routine_fired',
  'run_event',
  'inbox_changed',
  'join_request',
  'notification',
  'plugin_state',
  'worker_updated',
  'chat_message',
  'council_updated',
  'evolution_updated',
  'compiled_index_updated',
  'company_imported',
];

const LONGEST_WAIT_MS = 60_000;

export class LiveStream {
  #company;
  #deliver;
  #source = null;
  #failures = 0;
  #timer;
  /** Number of the newest event received; transcripts have none. */
  position;

  /**
   * @param position the event after which to begin
   * @param deliver receives `{kind: 'event', seq, type, data}`, `{kind: 'closed'}` whenever the connection is
   *   lost or not to be had, `{kind: 'open'}` after each gap, and `{kind: 'reset', after}` if more was missed than the
   *   service remembers: what follows is complete from there
   */
  constructor(company, position, deliver) {
    this.#company = company;
    this.#deliver = deliver;
    this.position = position;
    this.#open();
  }

  get isOpen() {
    return this.#source?.readyState === EventSource.OPEN;
  }

  /** Reopens now if it is waiting for that: somebody has just come, or signed in. */
  hurry() {
    if (this.#source?.readyState !== EventSource.CLOSED) return;
    clearTimeout(this.#timer);
    this.#open();
  }

  close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  #open() {
    // The instance's pages follow the fleet only.
    const what = this.#company === 'instance' ? 'topic=workers' : `company_id=${this.#company}`;
    const address = `/api/live/events?${what}&after=${this.position}`;
    const source = (this.#source = new EventSource(address));
    source.addEventListener('open', () => {
      this.#failures = 0;
      this.#deliver({ kind: 'open' });
    });
    source.addEventListener('error', () => {
      this.#deliver({ kind: 'closed' });
      // The browser reopens a lost connection; an answer other than 200 closes the source for good.
      if (source.readyState === EventSource.CLOSED) this.#tryLater();
    });
    source.addEventListener('reset', ({ lastEventId }) => {
      this.position = Number(lastEventId);
      this.#deliver({ kind: 'reset', after: this.position });
    });
    for (const type of NAMES) source.addEventListener(type, (event) => this.#receive(type, event));
  }

  #receive(type, event) {
    const { data } = JSON.parse(event.data);
    // Frames without a number repeat the last one.
    const seq = type === 'run_event' ? 0 : Number(event.lastEventId);
    if (seq > 0) this.position = seq;
    this.#deliver({ kind: 'event', seq, type, data });
  }

  #tryLater() {
    const wait = Math.min(LONGEST_WAIT_MS, 1000 * 2 ** this.#failures);
    this.#failures += 1;
    // Spread out, so that not all browsers reconnect at the same time after a restart.
    this.#timer = setTimeout(() => this.#open(), wait * (0.5 + Math.random()));
  }
}

// Transcripts that grow while they are written. Frames are numbered per run; missing entries are fetched.
import { askServer } from './connection.js';

export function startTranscripts(root) {
  const all = [...root.querySelectorAll('[data-transcript]')];
  const fresh = all.filter((element) => !followed.has(element));
  for (const element of all) {
    if (!followed.has(element)) follow(element);
    // Stayed as it was while its part was renewed.
    else if (mayGrow(element)) void fill(element);
  }
  if (fresh.length > 0) document.dispatchEvent(new CustomEvent('transcripts'));
}

const followed = new Map();

function follow(element) {
  followed.set(element, { filling: false, again: false, split: null });
  const { readAt } = element.dataset;
  if (!goTo(element)) element.scrollTop = readAt ?? element.scrollHeight;
  if (mayGrow(element)) void fill(element).then(() => goTo(element));
}

addEventListener('hashchange', () => {
  for (const element of shown()) goTo(element);
});

/** Scrolls to the entry that the address names, if present; a text contains all entries from its first to its last. */
function goTo(element) {
  const [, seq] = /^#entry-(\d+)$/.exec(location.hash) ?? [];
  if (seq === undefined || seq === element.dataset.went) return seq !== undefined;
  const holds = ({ id, dataset }) =>
    Number(seq) >= Number(id.slice('entry-'.length)) && Number(seq) <= Number(dataset.seq);
  const entry = [...element.children].find(holds);
  if (!entry) return false;
  element.dataset.went = seq;
  if (entry.localName === 'details') entry.open = true;
  for (const other of element.querySelectorAll('[data-meant]')) delete other.dataset.meant;
  entry.dataset.meant = '';
  entry.scrollIntoView({ block: 'center' });
  return true;
}

document.addEventListener('live', ({ detail: { type, data } }) => {
  if (type !== 'run_event') return;
  for (const element of shown()) if (element.dataset.transcript === data.run_id) take(element, data);
});

// Frames have no cursor: entries written between page and stream, or during a gap, are fetched.
document.addEventListener('live-open', () => {
  for (const element of shown()) if (mayGrow(element)) void fill(element);
});

/** Whether the run was unfinished when its transcript was rendered, or the transcript is longer than the initial page. */
const mayGrow = ({ dataset }) => dataset.more !== undefined;

function shown() {
  for (const element of followed.keys()) if (!element.isConnected) followed.delete(element);
  return [...followed.keys()];
}

function take(element, data) {
  const state = followed.get(element);
  const last = Number(element.dataset.seq);
  const part = data.payload.part ?? 0;
  // Later parts of a split entry have its number; each may only follow the part before.
  const follows = state.split?.seq === data.seq && state.split.part === part - 1;
  if (data.seq <= last && !follows) return;
  if (data.seq > last + 1 || data.kind !== 'output' || (part > 0 && !follows)) {
    void fill(element);
    return;
  }
  state.split = { seq: data.seq, part };
  append(element, data);
}

function append(element, { seq, payload }) {
  const atEnd = isAtEnd(element);
  let block = element.lastElementChild;
  if (block?.dataset.kind !== 'output') {
    block = document.createElement('div');
    block.className = 't-output';
    block.dataset.kind = 'output';
    block.id = `entry-${seq}`;
    element.append(block);
  }
  block.append(payload.text ?? '');
  block.dataset.seq = element.dataset.seq = String(seq);
  if (atEnd) scrollDown(element);
}

// One request at a time per transcript; calls in the meantime share one more.
async function fill(element) {
  const state = followed.get(element);
  if (state.filling) {
    state.again = true;
    return;
  }
  state.filling = true;
  try {
    do {
      state.again = false;
      // A page that brought entries is followed by the next one.
      while (element.isConnected && (await fillOnce(element)));
    } while (state.again && element.isConnected);
  } finally {
    state.filling = false;
  }
}

/** True if there was something new. */
async function fillOnce(element) {
  const after = element.dataset.seq;
  // What is missing is asked for again with the next entry, and when the stream is there again.
  const response = await askServer(`${element.dataset.source}?after=${after}`).catch(() => null);
  if (!response?.ok) return false;
  const template = document.createElement('template');
  template.innerHTML = await response.text();
  const last = template.content.lastElementChild;
  if (!last) return false;
  const state = followed.get(element);
  // The page may have replaced the transcript during the request.
  if (!state) return false;
  // Frames arrived in the meantime: fetch again from there, to avoid duplicates.
  if (element.dataset.seq !== after) return true;
  const atEnd = isAtEnd(element);
  element.dataset.seq = last.dataset.seq;
  state.split = null;
  joinOutput(element, template.content);
  element.append(template.content);
  if (atEnd) scrollDown(element);
  return true;
}

/** Continues streamed text in the block where it stopped. */
function joinOutput(element, { firstElementChild: first }) {
  const block = element.lastElementChild;
  if (block?.dataset.kind !== 'output' || first?.dataset.kind !== 'output') return;
  block.append(first.textContent);
  block.dataset.seq = first.dataset.seq;
  first.remove();
}

const isAtEnd = (element) => element.scrollHeight - element.scrollTop - element.clientHeight < 40;
function scrollDown(element) {
  element.scrollTop = element.scrollHeight;
}

// Transcripts that grow while they are written. Frames come numbered by run; what is missing is asked for.

export function startTranscripts(root) {
  for (const element of root.querySelectorAll('[data-transcript]')) follow(element);
}

const followed = new WeakSet();

function follow(element) {
  if (followed.has(element)) return;
  followed.add(element);
  scrollDown(element);
  const id = element.dataset.transcript;
  document.addEventListener('live', ({ detail: { type, data } }) => {
    if (type !== 'run_event' || data.run_id !== id || !element.isConnected) return;
    const last = Number(element.dataset.seq);
    // Later parts of an entry that was split have its number.
    const part = data.payload.part ?? 0;
    if (data.seq < last || (data.seq === last && part === 0)) return;
    if (data.seq > last + 1 || data.kind !== 'output') void fill(element);
    else append(element, data);
  });
}

function append(element, { seq, payload }) {
  const atEnd = isAtEnd(element);
  let block = element.lastElementChild;
  if (block?.dataset.kind !== 'output') {
    block = document.createElement('div');
    block.className = 't-output';
    block.dataset.kind = 'output';
    element.append(block);
  }
  block.append(payload.text ?? '');
  block.dataset.seq = element.dataset.seq = String(seq);
  if (atEnd) scrollDown(element);
}

// One request at a time for a transcript; what comes meanwhile is in the next one.
const filling = new Set();
async function fill(element) {
  if (filling.has(element)) return;
  filling.add(element);
  try {
    const atEnd = isAtEnd(element);
    const after = element.dataset.seq;
    const response = await fetch(`${element.dataset.source}?after=${after}`, {
      headers: { 'HX-Request': 'true' },
    });
    if (!response.ok || element.dataset.seq !== after) return;
    const template = document.createElement('template');
    template.innerHTML = await response.text();
    const last = template.content.lastElementChild;
    if (!last) return;
    element.dataset.seq = last.dataset.seq;
    element.append(template.content);
    if (atEnd) scrollDown(element);
  } finally {
    filling.delete(element);
  }
}

const isAtEnd = (element) => element.scrollHeight - element.scrollTop - element.clientHeight < 40;
function scrollDown(element) {
  element.scrollTop = element.scrollHeight;
}

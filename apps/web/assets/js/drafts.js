// Text that was typed and not sent, in forms marked `data-draft`: it outlives every reload of the tab, such as another act of the
// same page, until its own form is sent. Whoever signs in next in this tab does not see it.
import { marksOf } from './attaching.js';

export function startDrafts() {
  const { type, redirectCount } = performance.getEntriesByType('navigation')[0];
  settleAll({ isBack: type === 'back_forward', isAnswer: type === 'navigate' && redirectCount > 0 });
  // Browsers put back what fields contained, some of them only now: text that was sent from there is not a draft any more.
  addEventListener('pageshow', ({ persisted }) =>
    settleAll({ isBack: persisted || type === 'back_forward', isAnswer: false }),
  );
  document.addEventListener('input', ({ target }) => {
    if (isKept(target)) keepDraft(target);
  });
  // On the window, after all who may prevent it.
  addEventListener('submit', ({ defaultPrevented, target }) => {
    if (defaultPrevented || target.dataset.draft === undefined) return;
    for (const field of fieldsOf(target)) write(field, { text: field.value, sent: field.value });
  });
}

/** Keeps what the field contains now, or nothing if it is empty. */
export function keepDraft(field) {
  write(field, { text: field.value, sent: read(field)?.sent, marks: marksOf(field) });
}

const isKept = (field) => field.matches?.('form[data-draft] textarea');
const fieldsOf = (root) => [...root.querySelectorAll('textarea')].filter(isKept);

function settleAll(load) {
  for (const field of fieldsOf(document)) settle(field, load);
}

/** @param isAnswer whether the page is where a successful form led */
function settle(field, { isBack, isAnswer }) {
  const draft = read(field);
  if (draft === null) {
    if (isBack) field.value = field.defaultValue;
    // Typed before this script had loaded.
    return keepDraft(field);
  }
  const { sent, marks = [] } = draft;
  // The page that was uploading those files is gone.
  const unmarked = (marked) => marks.reduce((rest, mark) => rest.replace(mark, ''), marked);
  let text = unmarked(draft.text);
  // Without an answer it is not certain that it arrived: better twice in sight than lost.
  if (sent !== undefined && isAnswer)
    text = text.startsWith(sent) ? text.slice(sent.length).trimStart() : text;
  const before = field.value;
  const shown = unmarked(before);
  const kept =
    shown.trim() === text.trim() ? shown : [text, shown].filter((each) => each !== '').join('\n\n');
  if (kept !== before) field.value = kept;
  write(field, { text: field.value });
  if (kept !== before) field.dispatchEvent(new Event('input', { bubbles: true }));
  return undefined;
}

const keyOf = ({ form, name }) =>
  `draft ${document.body.dataset.user} ${form.getAttribute('action')} ${name}`;

function read(field) {
  return JSON.parse(sessionStorage.getItem(keyOf(field)));
}

function write(field, draft) {
  if (draft.text.trim() === '' && draft.sent === undefined) return sessionStorage.removeItem(keyOf(field));
  try {
    return sessionStorage.setItem(keyOf(field), JSON.stringify(draft));
  } catch {
    // The tab's storage is full: the text is only in the page.
    return undefined;
  }
}

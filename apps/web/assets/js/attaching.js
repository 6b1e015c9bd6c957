// Files that are chosen for a text, dropped or pasted into it: a placeholder stands for each until it is uploaded, then the link to it.
import { busy, toast } from './feedback.js';
import { insert, replace } from './field-edits.js';
import { t } from './texts.js';
import { carriesFiles, isUploading, upload, uploadsEnded } from './uploads.js';

/** The placeholders of each field, with what is to stand in their places: null until that is known. */
const marks = new WeakMap();
const waiting = new WeakSet();

/** @param form whose `data-files` is where the files go */
export function takeFiles(form, field) {
  marks.set(field, new Map());
  const take = (event, list) => {
    const files = [...(list?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    if (!field.readOnly) void attach(form, field, files);
  };
  field.addEventListener('paste', (event) => take(event, event.clipboardData));
  field.addEventListener('drop', (event) => take(event, event.dataTransfer));
  field.addEventListener('dragover', (event) => {
    if (carriesFiles(event)) event.preventDefault();
  });
  form.querySelector('[data-attach]')?.addEventListener('change', ({ target }) => {
    const files = [...target.files];
    // The same one may be chosen again.
    target.value = '';
    if (!field.readOnly) void attach(form, field, files);
  });
  form.addEventListener('submit', (event) => {
    // Undoing may have brought back a placeholder.
    for (const [mark, link] of marks.get(field)) if (link !== null) replace(field, mark, link);
    if (!isUploading() && !waiting.has(form)) return;
    event.preventDefault();
    if (!waiting.has(form)) void submitLater(form, field, event.submitter);
  });
}

async function attach(form, field, files) {
  field.focus({ preventScroll: true });
  const placed = files.map((file) => ({ file, mark: newMark(field, file.name) }));
  insertApart(
    field,
    placed.map(({ mark }) => mark),
  );
  const links = placed.map(async ({ file, mark }) => {
    let link = '';
    try {
      link = linkTo(file, await upload(form, file));
    } finally {
      marks.get(field).set(mark, link);
      await notComposing(field);
      replace(field, mark, link);
    }
  });
  const failed = (await Promise.allSettled(links)).filter(({ reason }) => reason);
  if (failed.length > 0) toast(failed.map(({ reason }) => reason.message).join(' · '));
}

/** Like no other in the field: several files may have one name. */
function newMark(field, name) {
  const known = marks.get(field);
  let mark;
  for (let count = 1; mark === undefined || known.has(mark); count += 1) {
    const called = count === 1 ? name : `${name} (${count})`;
    mark = `[${t`${called} is being attached …`}]()`;
  }
  known.set(mark, null);
  // Means nothing to a page that is loaded later.
  field.dataset.marks = JSON.stringify([...known.keys()]);
  return mark;
}

function linkTo({ type }, { id, filename }) {
  const name = filename.replaceAll(/[[\]]/g, '');
  return `${type.startsWith('image/') ? '!' : ''}[${name}](/api/attachments/${id}/download)`;
}

/** Several have a line each; one is a word among the others. */
function insertApart(field, texts) {
  const [gap, before, after] =
    texts.length > 1 ? ['\n', /(?:^|\n)$/, /^(?:\n|$)/] : [' ', /(?:^|\s)$/, /^(?:\s|$)/];
  const first = before.test(field.value.slice(0, field.selectionStart)) ? '' : gap;
  const last = after.test(field.value.slice(field.selectionEnd)) ? '' : gap;
  insert(field, `${first}${texts.join(gap)}${last}`);
}

/** A word of several keystrokes, as in Chinese, is broken by any change of the text. */
const composing = new WeakSet();
document.addEventListener('compositionstart', ({ target }) => composing.add(target));
document.addEventListener('compositionend', ({ target }) => composing.delete(target));

async function notComposing(field) {
  if (!composing.has(field)) return;
  await new Promise((resolve) => field.addEventListener('compositionend', resolve, { once: true }));
}

/** Once all files are attached; not at all if one of them could not be. What is sent is what there is now. */
async function submitLater(form, field, submitter) {
  const button = submitter ?? form.querySelector('button:not([type=button])');
  const said = form.querySelector('[data-sending-later]') ?? document.createElement('p');
  said.className = 'soft small';
  said.dataset.sendingLater = '';
  said.setAttribute('role', 'status');
  if (!said.isConnected) button.before(said);
  said.textContent = t`Will be sent as soon as the files are attached …`;
  const rest = busy(button);
  waiting.add(form);
  field.readOnly = true;
  const failed = (await uploadsEnded()).filter(({ reason }) => reason);
  // The links are put in after that.
  await new Promise((resolve) => setTimeout(resolve));
  waiting.delete(form);
  field.readOnly = false;
  rest();
  if (failed.length === 0) {
    said.remove();
    return form.requestSubmit(submitter);
  }
  said.className = 'error';
  said.textContent = [t`It was not sent.`, ...failed.map(({ reason }) => `${reason.message}.`)].join(' ');
  field.addEventListener('input', () => said.remove(), { once: true });
  return field.focus();
}

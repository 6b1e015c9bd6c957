// What was typed and not sent outlives every load of its page, such as another act of it, a sign-in, or Back: in any form that is
// posted, until that form is sent. Secrets are never kept, and whoever signs in next in this tab does not see the rest.
import { tell } from './feedback.js';
import { t } from './texts.js';
import { isAnswer, navigation } from './returning.js';

const SENT = 'draft sent';
const KEPT_MS = 86_400_000;
/** Of one form, and the number of forms of a tab: the oldest ones go. */
const LONGEST = 100_000;
const MOST = 20;

const FORMS = 'form[method=post]';
/**
 * A form that sends each choice by itself has nothing unsent, and one whose answer is beside it stays as it is. In a list of issues
 * nothing is typed.
 */
const OTHERS = '[data-autosubmit], [data-download], [data-issue-list], [data-preview]:not([data-composer])';
const isForm = (form) => form?.matches?.(`main ${FORMS}:not(${OTHERS})`) ?? false;
const NOT_TYPED = new Set(['hidden', 'password', 'file', 'submit', 'button', 'reset', 'image']);
const isTyped = ({ name, type, dataset, autocomplete, localName }) =>
  ['input', 'select', 'textarea'].includes(localName) &&
  Boolean(name) &&
  !NOT_TYPED.has(type) &&
  dataset.secret === undefined &&
  // Rows are chosen for an act of this moment.
  dataset.pick === undefined &&
  autocomplete !== 'one-time-code';

export function startDrafts() {
  // Nobody is signed in: nothing is anybody's.
  if (document.body.dataset.user === undefined) return sessionStorage.removeItem(SENT);
  const { type, responseStatus, redirectCount, name } = navigation();
  const sent = JSON.parse(sessionStorage.getItem(SENT));
  sessionStorage.removeItem(SENT);
  const isAnswered = sent !== null && isAnswer(sent.at);
  // A browser may not tell the status.
  const leads = redirectCount > 0 || (responseStatus > 0 && new URL(name).pathname === sent?.path);
  const isRefused = isAnswered && responseStatus >= 400;
  // Without an answer it is not certain that it arrived: better twice in sight than lost.
  if (isAnswered && !isRefused && leads) settle(sent.key);
  tidy();
  const load = { isBack: type === 'back_forward', isRefused };
  restoreAll(document, load);
  if (document.querySelector('[data-composer]')) reopen();
  // Browsers put back what fields contained, some of them only now: what was sent from there is not a draft any more.
  addEventListener('pageshow', ({ persisted }) =>
    restoreAll(document, { ...load, isBack: persisted || load.isBack }),
  );
  document.addEventListener('htmx:after:swap', ({ target }) => restoreAll(target, { isBack: false }));
  document.addEventListener(
    'form-shown',
    ({ target }) => isForm(target) && restore(target, { isBack: false }),
  );
  document.addEventListener('input', ({ target }) => {
    if (isForm(target.form) && isTyped(target)) keep(target.form);
  });
  // On the window, after all who may prevent it.
  addEventListener('submit', ({ defaultPrevented, target: form, submitter }) => {
    sessionStorage.removeItem(SENT);
    if (defaultPrevented || !isForm(form)) return;
    keep(form);
    const draft = read(keyOf(form));
    if (draft === null) return;
    for (const field of Object.values(draft.fields)) field.sent = field.value;
    write(keyOf(form), draft);
    const path = new URL(submitter?.getAttribute('formaction') ?? form.getAttribute('action'), location.href)
      .pathname;
    sessionStorage.setItem(SENT, JSON.stringify({ key: keyOf(form), path, at: Date.now() }));
  });
  return undefined;
}

/** Keeps what the field contains now, or nothing if it is as the server had it. */
export const keepDraft = (field) => keep(field.form);

function keep(form) {
  const before = read(keyOf(form))?.fields ?? {};
  const fields = {};
  for (const [name, controls] of controlsOf(form)) {
    const old = before[name];
    const value = valuesOf(controls, 'now');
    const base = old?.base ?? valuesOf(controls, 'before');
    if (isSame(value, base)) continue;
    // The page that is uploading those files will be gone.
    const marks = controls.flatMap(({ dataset }) => JSON.parse(dataset.marks ?? '[]'));
    fields[name] = { base, value, marks, shown: old?.shown ?? shownOf(form)[name], sent: old?.sent };
  }
  write(keyOf(form), { fields, opener: form.dataset.opener });
}

/** Its form has arrived: what was typed since is all that is left. */
function settle(key) {
  const draft = read(key);
  if (draft === null) return;
  for (const [name, field] of Object.entries(draft.fields)) {
    const { value, sent } = field;
    if (sent === undefined) continue;
    const goesOn = isSame(field.base, ['']) && value[0]?.startsWith(sent[0]);
    const rest = goesOn ? [value[0].slice(sent[0].length).trimStart()] : value;
    if (isSame(value, sent) || isSame(rest, [''])) delete draft.fields[name];
    else draft.fields[name] = { ...field, value: rest, sent: undefined };
  }
  write(key, draft);
}

function restoreAll(root, load) {
  for (const form of root.querySelectorAll(FORMS)) if (isForm(form)) restore(form, load);
}

function restore(form, { isBack, isRefused = false }) {
  const key = keyOf(form);
  const draft = read(key);
  const controls = controlsOf(form);
  // Typed before this script had loaded, unless the browser has put it back.
  if (draft === null) return isBack ? reset(controls) : keep(form);
  const changed = [];
  for (const [name, field] of Object.entries(draft.fields)) {
    const own = controls.get(name);
    if (own === undefined) continue;
    const wanted = offered(own, withoutMarks(field));
    const here = valuesOf(own, 'now');
    const server = valuesOf(own, 'before');
    if (isSame(wanted, server) && !isRefused) {
      // It has been saved by another way.
      delete draft.fields[name];
      if (isBox(own[0])) fill(own, wanted);
      continue;
    }
    const both =
      isSame(here, server) || own[0].localName !== 'textarea'
        ? wanted
        : [joined(wanted[0], withoutMarks({ ...field, value: here })[0])];
    draft.fields[name] = { ...field, value: both, marks: [] };
    if (isSame(both, here)) continue;
    fill(own, both);
    // What somebody else has changed meanwhile is found when it is sent.
    if (field.shown !== undefined) showAs(form, name, field.shown);
    changed.push(own[0]);
  }
  write(key, draft);
  if (changed.length === 0) return undefined;
  for (let fold = form.closest('details'); fold; fold = fold.parentElement.closest('details'))
    fold.open = true;
  for (const control of changed) control.dispatchEvent(new Event('input', { bubbles: true }));
  // A text that awaits being sent says so by itself.
  if (form.dataset.draft === undefined) tellOf(form, controls);
  return undefined;
}

function reset(controls) {
  for (const own of controls.values()) {
    const server = valuesOf(own, 'before');
    if (!isSame(valuesOf(own, 'now'), server)) fill(own, server);
  }
}

/** What is seen is not what is saved, and can be put back to that. */
function tellOf(form, controls) {
  if (form.querySelector('[data-unsent-note]')) return;
  const note = document.createElement('p');
  note.className = 'soft small';
  note.dataset.unsentNote = '';
  const discard = document.createElement('button');
  Object.assign(discard, { type: 'button', className: 'link small', textContent: t`Discard` });
  discard.addEventListener('click', () => {
    sessionStorage.removeItem(keyOf(form));
    reset(controls);
    for (const [control] of controls.values()) control.dispatchEvent(new Event('input', { bubbles: true }));
    note.remove();
    [...controls.values()][0][0].focus();
  });
  const text = t`You typed this before and have not sent it.`;
  note.append(text, ' ', discard);
  form.prepend(note);
  tell(text);
}

/** By name; several boxes share one. */
function controlsOf(form) {
  const found = new Map();
  for (const control of form.elements)
    if (isTyped(control) && !control.matches(':disabled'))
      found.set(control.name, [...(found.get(control.name) ?? []), control]);
  return found;
}

const isBox = ({ type }) => type === 'checkbox' || type === 'radio';
const chosen = (select, when) => {
  const options = [...select.options];
  const picked = options.filter(({ selected, defaultSelected }) =>
    when === 'now' ? selected : defaultSelected,
  );
  return (
    picked.length > 0 || select.multiple ? picked : options.filter(({ disabled }) => !disabled).slice(0, 1)
  ).map(({ value }) => value);
};

/** @param when `now`, or `before` anybody typed */
function valuesOf(controls, when) {
  return controls.flatMap((control) => {
    if (control.localName === 'select') return chosen(control, when);
    if (!isBox(control)) return [when === 'now' ? control.value : control.defaultValue];
    return (when === 'now' ? control.checked : control.defaultChecked) ? [control.value] : [];
  });
}

function fill(controls, values) {
  controls.forEach((control, index) => {
    if (control.localName === 'select')
      for (const option of control.options) option.selected = values.includes(option.value);
    else if (isBox(control)) control.checked = values.includes(control.value);
    else control.value = values[index] ?? '';
  });
}

/** What was chosen in a row that is gone is nobody's choice any more. */
const offered = (controls, values) =>
  isBox(controls[0]) ? controls.map(({ value }) => value).filter((value) => values.includes(value)) : values;

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const withoutMarks = ({ value, marks = [] }) =>
  value.map((text) => marks.reduce((rest, mark) => rest.replace(mark, ''), text));
const joined = (kept, here) =>
  kept.trim() === here.trim() ? here : [kept, here].filter((text) => text !== '').join('\n\n');

/** What the form says it showed, by name. */
const shownOf = ({ elements: { as_shown: field } }) => JSON.parse(field?.value ?? '{}');
const showAs = (form, name, shown) => {
  form.elements.as_shown.value = JSON.stringify({ ...shownOf(form), [name]: shown });
};

/** A form that a script had fetched is asked for again. */
function reopen() {
  for (const key of Object.keys(sessionStorage).filter((each) => each.startsWith(owner()))) {
    const { opener } = read(key);
    if (opener) document.querySelector(`[data-edit-comment][href="${CSS.escape(opener)}"]`)?.click();
  }
}

const PREFIX = 'draft of';
const owner = () => `${PREFIX} ${document.body.dataset.user} `;
const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Several forms of a page may post to the same address: their constants distinguish them. */
function keyOf(form) {
  const typed = controlsOf(form);
  const constants = [...form.elements].filter(
    ({ type, name, value }) =>
      type === 'hidden' && name !== 'as_shown' && !typed.has(name) && !INSTANT.test(value),
  );
  const said = constants.map(({ name, value }) => ` ${name}=${value.slice(0, 100)}`).join('');
  return `${owner()}${form.getAttribute('action')}${said}`;
}

function read(key) {
  return JSON.parse(sessionStorage.getItem(key));
}

function write(key, draft) {
  const text = JSON.stringify({ ...draft, at: Date.now() });
  const isEmpty = Object.keys(draft.fields).length === 0;
  if (isEmpty || text.length > LONGEST) return sessionStorage.removeItem(key);
  try {
    return sessionStorage.setItem(key, text);
  } catch {
    // The tab's storage is full: it is only in the page.
    return sessionStorage.removeItem(key);
  }
}

function tidy() {
  const found = Object.keys(sessionStorage)
    .filter((key) => key.startsWith(PREFIX))
    .map((key) => ({ key, at: read(key).at }))
    .toSorted((one, other) => other.at - one.at);
  for (const [index, { key, at }] of found.entries())
    if (index >= MOST || at < Date.now() - KEPT_MS) sessionStorage.removeItem(key);
}

// The list of issues: cells that are edited in place, and the keyboard.
import { changedIssues, released } from './changed-issues.js';
import { startChoosing, tellChosen } from './choosing.js';
import { parsed, request } from './live-parts.js';
import { isPassing, isTyping, lettersAct } from './keys.js';
import { plural } from './texts.js';
import { toast } from './feedback.js';

/** What is in sight stays where it is. */
const STILL = { preventScroll: true };
/** Keys that edit a cell of the focused row. */
const EDITS = { s: 'status', p: 'priority', a: 'assignee_agent_id' };
/** Has the row of an issue fetched, soon. */
const refresh = changedIssues(async (ids) => {
  const list = document.querySelector('[data-issue-list]');
  return list === null || renew(list, ids);
});

export function startIssueList() {
  let list = showList();
  startChoosing();
  const news = new News();
  const takeUp = (event) => {
    news.count(event);
    if (event.type.startsWith('issue_') && list && rowOf(list, event.data.id)) refresh(event.data.id);
  };
  document.addEventListener('keydown', (event) => list && onKey(event, list, () => rowsOf(list)));
  document.addEventListener('live', ({ detail }) => takeUp(detail));
  document.addEventListener('live-reset', () => location.reload());
  document.addEventListener('filtered', ({ detail: { missed } }) => {
    list = showList();
    news.clear();
    for (const event of missed) takeUp(event);
  });
}

const rowsOf = (list) => [...list.querySelectorAll('tbody tr:not([inert])')];

/** @returns null if nothing is listed */
function showList() {
  const list = document.querySelector('[data-issue-list]');
  list?.addEventListener('click', (event) => {
    const cell = event.target.closest('[data-edit]');
    if (cell) edit(list, cell);
  });
  return list;
}

const rowOf = (list, id) => list.querySelector(`tr[data-issue="${CSS.escape(id)}"]`);

/** New issues may not match the filter, and would push rows away from the pointer: the page says how many there are. */
class News {
  #made = new Set();
  #imported = 0;

  count({ type, data }) {
    if (type === 'company_imported') this.#imported += data.created.issues;
    else if (type === 'issue_created') this.#made.add(data.id);
    else return;
    const count = this.#made.size + this.#imported;
    const place = document.querySelector('[data-new-issues]');
    if (count === 0 || !place) return;
    place.textContent = plural(count, '# new issue: show', '# new issues: show');
    place.hidden = false;
  }

  /** The list has been read again. */
  clear() {
    this.#made.clear();
    this.#imported = 0;
  }
}

/** Replaces the cell's content with a select; a choice is sent immediately, one that keys pass over with Enter. */
function edit(list, cell) {
  const template = document.querySelector(`template[data-choices="${cell.dataset.edit}"]`);
  if (!template) return;
  const field = template.content.firstElementChild.cloneNode(true);
  const row = cell.closest('tr');
  const isTyped = field.localName === 'input';
  // A name that is typed begins as the one that is shown.
  if (isTyped) field.defaultValue = cell.dataset.value ? shownIn(cell) : '';
  else field.value = cell.dataset.value;
  field.setAttribute('aria-label', cell.dataset.name);
  cell.replaceWith(field);
  field.focus();
  let sent = false;
  let left = false;
  const back = () => {
    // Taking its place away from it is a blur, too.
    if (sent || left || !field.isConnected) return;
    left = true;
    field.replaceWith(cell);
    if (row.dataset.stale !== undefined) refresh(row.dataset.issue);
  };
  field.addEventListener('blur', back);
  field.addEventListener('keydown', (event) => {
    event.stopPropagation();
    if (event.key === 'Enter' && (isTyped || isPassing(field)) && !event.defaultPrevented) {
      event.preventDefault();
      void choose();
    }
    if (event.key !== 'Escape') return;
    back();
    cell.focus();
  });
  field.addEventListener('change', () => isPassing(field) || void choose());
  async function choose() {
    if (sent) return;
    sent = true;
    const { issue, title } = row.dataset;
    const { isDone, reason } = await send(issue, { [cell.dataset.edit]: field.value });
    if (reason) toast(`${title}: ${reason}`);
    if (isTyped && !isDone) {
      // To be mended, not typed again.
      sent = false;
      row.dataset.stale = '';
      return field.focus();
    }
    if (!(await renew(list, [issue], cell.dataset.edit))) refresh(issue);
    if (!field.isConnected) return;
    // There was no answer.
    const focused = field === document.activeElement;
    field.replaceWith(cell);
    if (focused) cell.focus();
  }
  if (isTyped) field.select();
  else openAfterFrame(field);
}

const shownIn = (cell) =>
  [...cell.childNodes]
    .filter((node) => !node.classList?.contains('sr-only'))
    .map((node) => node.textContent)
    .join('')
    .trim();

/** Opening the list of choices takes the browser longer than all the rest: the field itself is painted first. */
function openAfterFrame(field) {
  requestAnimationFrame(() =>
    setTimeout(() => {
      // A browser opens it only shortly after a key or click, and throws otherwise.
      const may = document.activeElement === field && navigator.userActivation?.isActive;
      if (may) field.showPicker?.();
    }),
  );
}

/** @returns `reason` if it was refused, unless the page says it anyway */
async function send(id, values) {
  const answer = await request(`/issues/${id}/properties`, {
    method: 'POST',
    body: new URLSearchParams(values),
  });
  const isDone = answer.ok || answer.status === 204;
  // The bar says why.
  if (isDone || answer.status === 401) return { isDone };
  const { reasonOf } = await import('./refusals.js');
  return { isDone, reason: reasonOf(answer) };
}

/**
 * Replaces the rows with the server's; postponed while someone is choosing in one.
 * @param edited field of the changed cell, which gets the focus
 * @returns whether there was an answer
 */
async function renew(list, ids, edited) {
  const { company } = document.body.dataset;
  const address = `/companies/${company}/issues/part/rows?${list.dataset.issueList}&issues=${ids}`;
  const answer = await request(address);
  if (!answer.ok) return !answer.mayPass;
  await released();
  const { content } = parsed(answer.text);
  for (const id of ids) {
    const row = rowOf(list, id);
    if (row) show(row, rowOf(content, id), edited);
  }
  tellChosen();
  return true;
}

function show(row, fresh, edited) {
  if (edited === undefined && row.querySelector('select, [data-choices]')) {
    row.dataset.stale = '';
    return;
  }
  const { activeElement: focused } = document;
  const hasFocus = row.contains(focused);
  const within = [...row.querySelectorAll(focused.localName)].indexOf(focused);
  const list = row.closest('[data-issue-list]');
  const at = rowsOf(list).indexOf(row);
  if (fresh) {
    const box = fresh.querySelector('[data-pick]');
    if (box) box.checked = row.querySelector('[data-pick]')?.checked ?? false;
    row.replaceWith(fresh);
  } else {
    // It keeps its place until the list is read again: the other rows would move under the pointer.
    row.inert = true;
    row.querySelector('[data-pick]')?.remove();
  }
  // Where somebody has gone on meanwhile, they are left there.
  if (!hasFocus) return;
  const cell = edited
    ? fresh?.querySelector(`[data-edit="${edited}"]`)
    : fresh?.querySelectorAll(focused.localName)[within];
  const rows = rowsOf(list);
  (cell ?? fresh ?? rows[at] ?? rows.at(-1))?.focus(STILL);
}

function onKey(event, list, rows) {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  if (ctrlKey || metaKey || altKey || !lettersAct() || isTyping(target)) return undefined;
  const row = document.activeElement?.closest('[data-issue-list] tbody tr');
  if (key === 'j' || key === 'k') {
    const known = rows();
    const at = row ? known.indexOf(row) + (key === 'j' ? 1 : -1) : 0;
    const next = known[Math.max(0, Math.min(at, known.length - 1))];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  } else if (row && key === 'Enter' && target === row) {
    row.querySelector('.issue-title')?.click();
  } else if (row && EDITS[key]) {
    const cell = row.querySelector(`[data-edit="${EDITS[key]}"]`);
    if (!cell) return undefined;
    event.preventDefault();
    edit(list, cell);
  } else return undefined;
  if (key !== 'Enter') event.preventDefault();
  return undefined;
}

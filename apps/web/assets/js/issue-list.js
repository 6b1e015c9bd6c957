// The list of issues: cells that are edited in place, and the keyboard.
import { startChoosing, tellChosen } from './choosing.js';
import { askServer } from './connection.js';
import { request, turn } from './live-parts.js';
import { isPassing, isTyping, lettersAct } from './keys.js';
import { plural, t } from './texts.js';
import { toast } from './feedback.js';

/** Keys that edit a cell of the focused row. */
const EDITS = { s: 'status', p: 'priority', a: 'assignee_agent_id' };
/** A row that could not be fetched is asked for again, each time after twice as long. */
const FIRST_REPEAT_MS = 1000;
const LATER_REPEATS_MS = 30_000;
/** Rows that wait for that. */
const repeated = new WeakSet();

export function startIssueList() {
  let list = showList();
  startChoosing();
  const news = new News();
  const takeUp = async (event) => {
    news.count(event);
    const { issue } = (list && changedRow(list, event))?.dataset ?? {};
    if (issue === undefined || !(await turn(issue))) return;
    const row = list && changedRow(list, event);
    if (row) await renew(list, row);
  };
  document.addEventListener('keydown', (event) => list && onKey(event, list, () => rowsOf(list)));
  document.addEventListener('live', ({ detail }) => void takeUp(detail));
  document.addEventListener('live-reset', () => location.reload());
  document.addEventListener('filtered', ({ detail: { missed } }) => {
    list = showList();
    news.clear();
    for (const event of missed) void takeUp(event);
  });
}

const rowsOf = (list) => [...list.querySelectorAll('tbody tr')];

/** @returns null if nothing is listed */
function showList() {
  const list = document.querySelector('[data-issue-list]');
  list?.addEventListener('click', (event) => {
    const cell = event.target.closest('[data-edit]');
    if (cell) edit(list, cell);
  });
  return list;
}

function changedRow(list, { type, data }) {
  const id = type === 'comment_created' ? null : type.startsWith('issue_') ? data.id : null;
  return id && list.querySelector(`tr[data-issue="${CSS.escape(id)}"]`);
}

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
  const back = () => {
    if (sent || !field.isConnected) return;
    field.replaceWith(cell);
    if (row.dataset.stale !== undefined) void renew(list, row);
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
    const said = await send(row.dataset.issue, { [cell.dataset.edit]: field.value }, isTyped);
    if (said) toast(`${row.dataset.title}: ${said}`);
    await renew(list, row, { focus: cell.dataset.edit });
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

/** @returns null on success, else the reason */
async function send(id, values, isNamed) {
  const response = await askServer(`/issues/${id}/properties`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(values),
  }).catch(() => null);
  if (response?.ok) return null;
  const [name] = Object.values(values);
  return isNamed && response?.status === 400
    ? t`there is not one that is called “${name}”`
    : t`it could not be changed`;
}

/**
 * Replaces the row with the server's; postponed while someone is choosing in it.
 * @param focus field of the changed cell, which gets the focus
 * @param wait before it is asked for again, if there is no answer
 */
async function renew(list, row, { focus, wait = FIRST_REPEAT_MS } = {}) {
  const choosing = () => {
    const open = focus === undefined && row.querySelector('select, [data-choices]') !== null;
    if (open) row.dataset.stale = '';
    return open;
  };
  if (choosing()) return undefined;
  const answer = await request(`/issues/${row.dataset.issue}/row?${list.dataset.issueList}`);
  if (answer.mayPass) return repeatLater(list, row, wait);
  if (answer.status === 404) {
    row.remove();
    return tellChosen();
  }
  if (!answer.ok) return undefined;
  const template = document.createElement('template');
  template.innerHTML = answer.text.trim();
  const fresh = template.content.querySelector('tr');
  // The choice may have been opened during the request.
  if (!fresh || choosing()) return undefined;
  const box = fresh.querySelector('[data-pick]');
  if (box) box.checked = row.querySelector('[data-pick]')?.checked ?? false;
  const focused = row.contains(document.activeElement);
  row.replaceWith(fresh);
  if (focus) fresh.querySelector(`[data-edit="${focus}"]`)?.focus();
  else if (focused) fresh.focus();
  return undefined;
}

function repeatLater(list, row, wait) {
  if (repeated.has(row)) return;
  repeated.add(row);
  setTimeout(() => {
    repeated.delete(row);
    if (row.isConnected) void renew(list, row, { wait: Math.min(2 * wait, LATER_REPEATS_MS) });
  }, wait);
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

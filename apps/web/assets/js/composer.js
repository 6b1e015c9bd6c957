// Writing aids: names and issues that complete themselves, dropped files, a preview, quoting of comments.
import { takeFiles } from './attaching.js';
import { askServer } from './connection.js';
import { insert } from './field-edits.js';
import { startFileList } from './file-list.js';
import { t } from './texts.js';
import { toast } from './feedback.js';

const MOST_OFFERED = 6;
const WAIT_MS = 100;
let asked = 0;

export async function startComposers() {
  for (const composer of document.querySelectorAll('[data-composer]')) start(composer);
  startFileList();
  document.addEventListener('input', ({ target }) => {
    if (target.list?.id === 'issues-offered') void offerIssues(target);
  });
  document.addEventListener('click', (event) => {
    const quote = event.target.closest('[data-quote]');
    if (quote) quoteComment(quote.closest('.comment'));
    const edit = event.target.closest('[data-edit-comment]');
    if (edit && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      void editInPlace(edit, event);
    }
  });
  // The module defines its element by itself.
  await import('./text-expander.js');
}

/** The style sheet keeps what gets the focus clear of it, whatever its height. */
const heights = new ResizeObserver(([{ target }]) =>
  document.documentElement.style.setProperty('--composer', `${target.offsetHeight + 8}px`),
);

function start(composer) {
  heights.observe(composer.closest('.dock') ?? composer);
  staysWhilePressed(composer);
  const field = composer.querySelector('textarea');
  const { files, preview } = composer.dataset;
  const expander = composer.querySelector('text-expander');
  expander?.addEventListener('text-expander-change', ({ detail }) => {
    detail.provide(offers(detail.key, detail.text));
  });
  expander?.addEventListener('text-expander-value', ({ detail }) => {
    detail.value = detail.item.dataset.value;
  });
  if (files) takeFiles(composer, field);
  if (preview) startPreview(composer, field, preview);
}

/** It gets smaller without the focus, which a press elsewhere takes away: only after that, since it moves the end of the page. */
function staysWhilePressed(composer) {
  document.addEventListener('pointerdown', () => {
    if (composer.contains(document.activeElement)) composer.dataset.pressed = '';
  });
  for (const end of ['pointerup', 'pointercancel']) {
    // The click follows.
    document.addEventListener(end, () => setTimeout(() => delete composer.dataset.pressed));
  }
}

/** The palette's search results of one kind; none if someone has typed on in the meantime. */
async function search(kind, text) {
  const { company } = document.body.dataset;
  if (text.trim() === '') return [];
  const turn = (asked += 1);
  await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  if (turn !== asked) return [];
  const query = new URLSearchParams({ q: text });
  const answer = await fetch(`/api/companies/${company}/search?${query}`).catch(() => null);
  if (!answer?.ok) return [];
  return (await answer.json()).filter((each) => each.kind === kind).slice(0, MOST_OFFERED);
}

/** Suggests issues below a field that names one. */
async function offerIssues(field) {
  const found = await search('issue', field.value);
  if (found.length === 0) return;
  const options = found.map(({ title, detail }) => new Option(title, detail));
  field.list?.replaceChildren(...options);
}

/** Agents for `@`, issues for `#`. */
async function offers(key, text) {
  const kind = key === '@' ? 'agent' : 'issue';
  const found = await search(kind, text);
  const list = document.createElement('ul');
  list.className = 'offers';
  list.setAttribute('role', 'listbox');
  for (const { id, title, detail } of found) {
    const item = document.createElement('li');
    item.setAttribute('role', 'option');
    item.id = `offer-${id}`;
    // Names of several words are written with hyphens, so that their end is clear.
    item.dataset.value = kind === 'agent' ? `@${title.replaceAll(/\s+/g, '-')}` : detail;
    item.textContent = kind === 'agent' ? `${title} (${detail})` : `${detail} ${title}`;
    list.append(item);
  }
  return { matched: found.length > 0, fragment: list };
}

/** Shows the text as rendered by the server. */
function startPreview(composer, field, path) {
  const button = composer.querySelector('[data-show-preview]');
  const place = composer.querySelector('[data-preview-place]');
  if (!button || !place) return;
  button.addEventListener('click', async () => {
    const showing = !place.hidden;
    if (!showing) {
      const answer = await askServer(path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ body_markdown: field.value }),
      }).catch(() => null);
      // The bar says that nobody is signed in any more.
      if (!answer?.ok) return answer?.status === 401 ? undefined : toast(t`There is no preview of that`);
      place.innerHTML = await answer.text();
    }
    place.hidden = showing;
    field.closest('.field').hidden = !showing;
    button.textContent = showing ? t`Preview` : t`Edit`;
    button.setAttribute('aria-pressed', String(!showing));
    if (showing) field.focus();
    return undefined;
  });
}

function quoteComment(comment) {
  const field = document.querySelector('[data-composer] textarea');
  if (!field) return;
  const selected = getSelection();
  const text = comment.contains(selected.anchorNode) ? selected.toString() : '';
  const said = text.trim() || comment.querySelector('[data-comment-text]').innerText.trim();
  const quoted = said.split('\n').map((line) => `> ${line}`);
  const before = field.value === '' || field.value.endsWith('\n\n') ? '' : '\n\n';
  field.setSelectionRange(field.value.length, field.value.length);
  field.focus();
  insert(field, `${before}${quoted.join('\n')}\n\n`);
}

/** Shows the form in place of the text; without script it has a page of its own. */
async function editInPlace(link, { isTrusted }) {
  const place = link.closest('.comment-body').querySelector('[data-comment-text]');
  // Opening it again would discard what was typed since.
  if (place.dataset.editing !== undefined) return place.querySelector('textarea')?.focus();
  place.dataset.editing = '';
  const answer = await askServer(link.href).catch(() => null);
  if (!answer?.ok) return location.assign(link.href);
  const before = [...place.childNodes];
  place.innerHTML = await answer.text();
  const field = place.querySelector('textarea');
  const cancel = document.createElement('button');
  cancel.type = 'button';
  cancel.className = 'quiet';
  cancel.textContent = t`Cancel`;
  cancel.addEventListener('click', () => {
    form.reset();
    field.dispatchEvent(new Event('input', { bubbles: true }));
    place.replaceChildren(...before);
    delete place.dataset.editing;
    link.focus();
  });
  const form = place.querySelector('form');
  form.append(' ', cancel);
  // Another load of the page opens it again if there is something unsent in it.
  form.dataset.opener = link.getAttribute('href');
  form.dispatchEvent(new Event('form-shown', { bubbles: true }));
  if (isTrusted) field.focus();
  return undefined;
}

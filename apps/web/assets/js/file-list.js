// The files of an issue: takes those that are dropped on the list, and refuses a choice that exceeds the limits before it is sent.
import { renewLater } from './live-parts.js';
import { t } from './texts.js';
import { toast } from './feedback.js';
import { carriesFiles, upload } from './uploads.js';

/** Names of those on their way, which the list shows even if it is refreshed meanwhile. */
const names = [];
const listUnder = ({ target }) => target.closest?.('[data-file-list]');

export function startFileList() {
  document.addEventListener('dragover', (event) => {
    const list = listUnder(event);
    if (!list || !carriesFiles(event) || event.target.closest('input[type=file]')) return;
    event.preventDefault();
    list.dataset.drop = '';
  });
  document.addEventListener('dragleave', (event) => {
    const list = listUnder(event);
    if (list && !list.contains(event.relatedTarget)) delete list.dataset.drop;
  });
  document.addEventListener('drop', (event) => {
    const list = listUnder(event);
    if (!list || event.dataTransfer.files.length === 0) return;
    delete list.dataset.drop;
    if (event.target.closest('input[type=file]')) return;
    event.preventDefault();
    void attachAll(list, [...event.dataTransfer.files]);
  });
  document.addEventListener('htmx:after:swap', showRunning);
  document.addEventListener('change', ({ target }) => {
    if (!target.matches?.('[data-file-list] input[type=file]')) return;
    const over = overLimits(target, [...target.files]);
    target.setCustomValidity(over ?? '');
    if (over) target.reportValidity();
  });
}

/** @param place element that says the limits of one request @returns them in words if the files exceed them, else null */
export function overLimits({ dataset: { most, largest, together, limits } }, files) {
  const sum = files.reduce((total, { size }) => total + size, 0);
  const exceeds =
    files.length > Number(most) || sum > Number(together) || files.some(({ size }) => size > Number(largest));
  return exceeds ? limits : null;
}

/** One after the other, however many they are. */
async function attachAll(list, files) {
  names.push(...files.map(({ name }) => name));
  showRunning();
  const problems = [];
  for (const file of files) {
    await upload(list, file).catch(({ message }) => problems.push(message));
    names.splice(names.indexOf(file.name), 1);
    showRunning();
    // An event says so too, if the stream is there.
    const part = document.querySelector('[data-live]:has([data-file-list])');
    if (part) void renewLater(part);
  }
  if (problems.length > 0) toast(problems.join(' · '));
}

function showRunning() {
  const list = document.querySelector('[data-file-list] ul');
  if (!list) return;
  for (const old of list.querySelectorAll('[data-running]')) old.remove();
  for (const name of names) {
    const item = document.createElement('li');
    item.className = 'soft small';
    item.dataset.running = '';
    item.textContent = t`${name} is being attached …`;
    list.append(item);
  }
}

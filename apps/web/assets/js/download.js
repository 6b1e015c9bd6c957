// Forms whose answer is saved as a file: their button is busy until it is there. Without script the browser saves it, and says nothing
// meanwhile. The service bounds the size of such a file by what it takes as an upload.
import { askServer } from './connection.js';
import { busy, toast } from './feedback.js';
import { t } from './texts.js';

/** Longer than a browser takes to begin saving. */
const KEPT_MS = 60_000;

export function startDownloads() {
  document.addEventListener('submit', (event) => {
    const { target: form, submitter } = event;
    if (form.dataset.download === undefined || event.defaultPrevented) return;
    event.preventDefault();
    const rest = busy(submitter ?? form.querySelector('button'));
    void download(form)
      .catch(({ message }) => toast(message))
      .finally(rest);
  });
}

async function download(form) {
  const answer = await askServer(`${form.action}?${new URLSearchParams(new FormData(form))}`).catch(
    () => null,
  );
  // The bar says that nobody is signed in any more.
  if (answer?.status === 401) return;
  const told = answer?.ok ? null : await answer?.json().catch(() => null);
  const file = answer?.ok ? await answer.blob().catch(() => null) : null;
  if (file === null) throw new Error(told?.error ?? t`The file could not be fetched: try again.`);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = /filename="([^"]+)"/.exec(answer.headers.get('content-disposition'))?.[1] ?? '';
  link.click();
  toast(link.download ? t`Downloaded: ${link.download}` : t`The file has been downloaded.`);
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}

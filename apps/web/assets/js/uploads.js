// Files on their way to the server. Who leaves the page would lose them: the browser asks first.
import { askServer } from './connection.js';
import { t } from './texts.js';

const running = new Set();
const ask = (event) => event.preventDefault();

export const isUploading = () => running.size > 0;

/** Until no file is on its way, however many are added meanwhile. @returns the outcomes */
export async function uploadsEnded() {
  const outcomes = [];
  while (isUploading()) outcomes.push(...(await Promise.allSettled(running)));
  return outcomes;
}

/** Asks before the page is left, until the promise is settled. */
export async function asksToStay(work) {
  if (running.size === 0) addEventListener('beforeunload', ask);
  running.add(work);
  try {
    return await work;
  } finally {
    running.delete(work);
    if (running.size === 0) removeEventListener('beforeunload', ask);
  }
}

/**
 * @param place element that says where files go, and their limits
 * @returns the stored file
 * @throws an error whose message says which file is missing, and why
 */
export async function upload(place, file) {
  return asksToStay(send(place.dataset, file));
}

async function send({ files: path, largest, limits }, file) {
  const failed = t`${file.name} could not be attached`;
  if (file.size > Number(largest)) throw new Error(`${failed}: ${limits}`);
  const body = new FormData();
  body.append('file', file, file.name);
  const answer = await askServer(path, { method: 'POST', body }).catch(() => null);
  if (answer?.ok) return answer.json();
  // To whom is not signed in any more, the bar says so.
  const told = answer?.status === 401 ? null : await answer?.json().catch(() => null);
  throw new Error(told?.error ? `${failed}: ${told.error}` : failed);
}

export const carriesFiles = ({ dataTransfer }) => dataTransfer?.types.includes('Files') ?? false;

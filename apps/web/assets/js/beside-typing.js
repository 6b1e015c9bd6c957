// What is read next to a form that someone is filling in.
import { askServer } from './connection.js';
import { nameAgain } from './live-parts.js';

/** Refreshes the read-only text of a part, and leaves its form as it is. */
export async function renewText(part) {
  const old = part.querySelector('[data-reads]');
  const answer = await askServer(part.dataset.source).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const fresh = page.querySelector('[data-reads]');
  if (!fresh || !old.isConnected) return;
  old.replaceWith(document.adoptNode(fresh));
  nameAgain(part);
}

// An issue's texts as others change them: its title, and what is read next to a form that someone is filling in.
import { askServer } from './connection.js';

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

/** Updates the page's title to the current one. */
export function nameAgain(part) {
  const name = part.querySelector('[data-heading]')?.dataset.heading;
  const heading = document.querySelector('h1');
  if (!name || !heading || heading.textContent === name) return;
  document.title = document.title.replace(heading.textContent, () => name);
  heading.textContent = name;
}

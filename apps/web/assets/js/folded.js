import { askServer } from './connection.js';

/** Loads a long text that a page has folded. */
export async function unfold(details) {
  const answer = await askServer(details.dataset.text);
  // The link in place of the text stays.
  if (!answer.ok || answer.redirected) return;
  delete details.dataset.text;
  details.querySelector('summary').insertAdjacentHTML('afterend', await answer.text());
  details.lastElementChild.remove();
}

import { request } from './live-parts.js';

/** Loads a long text that a page has folded: once, however often it is opened meanwhile. */
export async function unfold(details) {
  const { text } = details.dataset;
  delete details.dataset.text;
  const answer = await request(text);
  if (!answer.ok) {
    // The link in place of the text stays.
    details.dataset.text = text;
    return;
  }
  details.querySelector('summary').insertAdjacentHTML('afterend', answer.text);
  details.lastElementChild.remove();
}

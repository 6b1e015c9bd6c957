/** Loads a long text that a page has folded. */
export async function unfold(details) {
  const answer = await fetch(details.dataset.text, { headers: { 'HX-Request': 'true' } });
  // The link in place of the text stays.
  if (!answer.ok || answer.redirected) return;
  delete details.dataset.text;
  details.querySelector('summary').insertAdjacentHTML('afterend', await answer.text());
  details.lastElementChild.remove();
}

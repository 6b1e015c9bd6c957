// Loads long texts that a page has folded when they are unfolded.
export function startFolded() {
  // `toggle` does not bubble.
  document.addEventListener('toggle', ({ target }) => void unfold(target), { capture: true });
}

async function unfold(details) {
  const { text } = details.dataset;
  if (!details.open || !text) return;
  const answer = await fetch(text, { headers: { 'HX-Request': 'true' } });
  // The link in place of the text stays.
  if (!answer.ok || answer.redirected) return;
  delete details.dataset.text;
  details.querySelector('summary').insertAdjacentHTML('afterend', await answer.text());
  details.lastElementChild.remove();
}

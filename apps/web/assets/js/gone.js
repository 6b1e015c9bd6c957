// What a page says whose subject is not to be had any more.
import { toast } from './feedback.js';
import { t } from './texts.js';

/** Says on top of the page that its subject is not to be had any more, for as long as that is so. @param status of its part */
export function tellGone(status) {
  const isGone = status === 404 || status === 403;
  const note = document.querySelector('[data-gone]');
  if (!isGone && status === 200) note?.remove();
  if (!isGone || note) return;
  const text = t`This is no longer here: it has been deleted, or you may not see it any more.`;
  const said = document.createElement('p');
  Object.assign(said, { className: 'notice', textContent: text });
  said.setAttribute('role', 'alert');
  said.dataset.gone = '';
  document.querySelector('main').prepend(said);
  // Whoever has scrolled down sees it, too.
  toast(text, { silent: true });
}

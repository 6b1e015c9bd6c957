// The browser's own notifications, for who has asked for them in this browser: that more waits than before.
import { plural, t } from './texts.js';

const KEY = 'notices';
let before = null;

const wanted = () => globalThis.Notification?.permission === 'granted' && localStorage.getItem(KEY) === 'on';

/** Called with each change of the number that waits. Who looks at a page of it sees it there. */
export function announceMore(waits) {
  const more = before !== null && waits > before;
  before = waits;
  if (!more || document.visibilityState === 'visible' || !wanted()) return;
  const company = document.querySelector('.company span')?.textContent ?? '';
  const inbox = document.querySelector('.account a[href$="/inbox"]')?.href;
  // One for all tabs of a company: they share the name.
  const notice = new Notification(company, {
    body: plural(waits, '# thing waits for you', '# things wait for you'),
    tag: `inbox ${document.body.dataset.company}`,
  });
  notice.addEventListener('click', () => {
    focus();
    notice.close();
    if (inbox) location.assign(inbox);
  });
}

/** The choice, on the inbox: in this browser alone, for only this browser can be asked for leave. */
export function startNotices() {
  const place = document.querySelector('[data-notices]');
  if (!place || !globalThis.Notification || Notification.permission === 'denied') return;
  const button = place.querySelector('[data-ask-notices]');
  const say = () => {
    button.textContent = wanted()
      ? t`This browser tells you when something waits: stop that`
      : t`Let this browser tell you when something waits`;
  };
  button.addEventListener('click', () => void choose().then(say));
  say();
  place.hidden = false;
}

async function choose() {
  if (wanted()) localStorage.removeItem(KEY);
  else if ((await Notification.requestPermission()) === 'granted') {
    localStorage.setItem(KEY, 'on');
    // What waits now is in sight: the next one is told of already.
    before = Number(document.querySelector('.account .count')?.textContent ?? 0);
  }
}

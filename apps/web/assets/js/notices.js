// Browser notifications, for those who enabled them in this browser: reports that more is waiting than before.
import { plural, t } from './texts.js';

const KEY = 'notices';
let before = null;

const wanted = () => globalThis.Notification?.permission === 'granted' && localStorage.getItem(KEY) === 'on';

/** Called whenever the number of waiting items changes. A visible page already shows it. */
export function announceMore(waits) {
  const more = before !== null && waits > before;
  before = waits;
  if (!more || document.visibilityState === 'visible' || !wanted()) return;
  const company = document.querySelector('.company span')?.textContent ?? '';
  const inbox = document.querySelector('.account a[href$="/inbox"]')?.href;
  // One for all tabs of a company: they share the tag.
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

/** The switch on the inbox page, for this browser only, as each browser asks for permission itself. */
export function startNotices() {
  const place = document.querySelector('[data-notices]');
  if (!place || !globalThis.Notification || Notification.permission === 'denied') return;
  const button = place.querySelector('[data-ask-notices]');
  const say = () => {
    button.textContent = wanted()
      ? t`This browser notifies you when something is waiting: turn off`
      : t`Notify me in this browser when something is waiting`;
  };
  button.addEventListener('click', () => void choose().then(say));
  say();
  place.hidden = false;
}

async function choose() {
  if (wanted()) localStorage.removeItem(KEY);
  else if ((await Notification.requestPermission()) === 'granted') {
    localStorage.setItem(KEY, 'on');
    // The items waiting now are visible: only later ones are reported.
    before = Number(document.querySelector('.account .count')?.textContent ?? 0);
  }
}

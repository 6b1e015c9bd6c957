// Marks an issue as read by viewing it: when its page opens, and when something happens on it while the page is visible.
import { request } from './live-parts.js';

const WAIT_MS = 1500;
/** A mark that was not taken is made again, each time after twice as long, and not before the service wants it. */
const FIRST_REPEAT_MS = 2000;
const LATER_REPEATS_MS = 120_000;

export function startReading() {
  const { readsIssue: id } = document.querySelector('[data-reads-issue]').dataset;
  let due = false;
  let timer = 0;
  let failures = 0;
  const mark = async () => {
    if (document.visibilityState !== 'visible') return;
    due = false;
    const { mayPass, wait_ms } = await request(`/issues/${id}/read`, { method: 'POST' });
    if (!mayPass) {
      failures = 0;
      return;
    }
    markIn(Math.max(wait_ms, Math.min(FIRST_REPEAT_MS * 2 ** failures, LATER_REPEATS_MS)));
    failures += 1;
  };
  const markIn = (wait) => {
    due = true;
    clearTimeout(timer);
    timer = setTimeout(() => void mark(), wait);
  };
  document.addEventListener('live', ({ detail }) => {
    // A repeat marks what has come until then, too.
    if (detail.topics.includes(`issue:${id}`) && failures === 0) markIn(WAIT_MS);
  });
  document.addEventListener('visibilitychange', () => due && void mark());
  void mark();
}

// Marks an issue as read by viewing it: when its page opens, and when something happens on it while the page is visible.
import { askServer } from './connection.js';

const WAIT_MS = 1500;
let due = false;
let timer = 0;

export function startReading() {
  const { readsIssue: id } = document.querySelector('[data-reads-issue]').dataset;
  const mark = () => {
    if (document.visibilityState !== 'visible') return;
    due = false;
    void askServer(`/issues/${id}/read`, { method: 'POST' }).catch(() => {
      due = true;
    });
  };
  const markLater = () => {
    due = true;
    clearTimeout(timer);
    timer = setTimeout(mark, WAIT_MS);
  };
  document.addEventListener('live', ({ detail }) => {
    if (detail.topics.includes(`issue:${id}`)) markLater();
  });
  document.addEventListener('visibilitychange', () => due && mark());
  due = true;
  mark();
}

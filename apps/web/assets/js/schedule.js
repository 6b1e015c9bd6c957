// Describes a schedule in words while it is edited, with its next times; buttons enter the usual ones.
import { askServer } from './connection.js';

const PAUSE_MS = 250;

export function startSchedules() {
  for (const fields of document.querySelectorAll('[data-schedule]')) watch(fields);
}

function watch(fields) {
  const cron = fields.querySelector('[name=cron_expression]');
  const zone = fields.querySelector('[name=timezone]');
  const place = fields.querySelector('[data-said]');
  let waiting;
  let asked = 0;
  const say = async () => {
    const ask = (asked += 1);
    const query = new URLSearchParams({ cron_expression: cron.value, timezone: zone.value });
    const answer = await askServer(`${fields.dataset.schedule}?${query}`);
    const text = answer.ok ? await answer.text() : '';
    // Anything typed since has its own request.
    if (ask === asked) place.innerHTML = text;
  };
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => void say().catch(() => undefined), PAUSE_MS);
  };
  fields.addEventListener('focusin', soon, { once: true });
  fields.addEventListener('input', soon);
  fields.addEventListener('click', ({ target }) => {
    if (target.dataset.cron === undefined) return;
    cron.value = target.dataset.cron;
    cron.dispatchEvent(new Event('input', { bubbles: true }));
  });
}

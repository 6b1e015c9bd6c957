import { t } from './texts.js';

/** Why the server refused, from the page that says so. */
export function reasonOf({ text }) {
  const page = new DOMParser().parseFromString(text, 'text/html');
  return page.querySelector('main [role=alert]')?.textContent.trim() ?? t`the service cannot be reached`;
}

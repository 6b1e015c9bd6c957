// Requests for fragments of a page, as htmx sends them.
import { t } from './texts.js';

/** What has not been answered by then has failed. */
const LONGEST_MS = 30_000;

/** @returns `status` is 0 if there was no answer; `mayPass` if the same request may succeed later */
export async function request(path, options = {}) {
  try {
    const response = await fetch(path, {
      ...options,
      headers: { 'HX-Request': 'true' },
      signal: AbortSignal.timeout(LONGEST_MS),
    });
    const { status, redirected, headers } = response;
    // Without a session there is no content, and elsewhere is another page.
    const ok = status === 200 && !redirected;
    const mayPass = status === 429 || status >= 500;
    return { ok, status, mayPass, signIn: headers.get('HX-Redirect'), text: await response.text() };
  } catch {
    return { ok: false, status: 0, mayPass: true, signIn: null, text: '' };
  }
}

/** Why the server refused, from the page that says so. */
export function reasonOf({ text }) {
  const page = new DOMParser().parseFromString(text, 'text/html');
  return page.querySelector('main [role=alert]')?.textContent.trim() ?? t`the service cannot be reached`;
}

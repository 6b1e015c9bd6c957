/** Redirects a browser without a session to the sign-in page (specification, Authentication 4). */
import type { Request, Response } from 'express';

/** Whether someone at a browser opened a page-like path, rather than a program with or without its key. */
export function wantsPage(request: Request): boolean {
  const { accept, authorization } = request.headers;
  const html = accept?.toLowerCase().includes('text/html') ?? false;
  return html && authorization === undefined && !request.path.startsWith('/api/');
}

/** Whether a person sees the answer: of a page or a file, or of a form, whatever its path; and not a script of a page. */
export function showsPage(request: Request): boolean {
  if (request.get('hx-request') === 'true') return false;
  if (request.method === 'GET') return wantsPage(request) && !request.path.startsWith('/static/');
  const { accept = '', authorization } = request.headers;
  const isForm = request.is(['urlencoded', 'multipart']) !== false;
  return request.method === 'POST' && isForm && authorization === undefined && accept.includes('text/html');
}

/** Whether a script of a page asks, rather than the browser for a page of its own: htmx, or `fetch`. */
function isOfScript(request: Request): boolean {
  return request.get('hx-request') === 'true' || request.get('sec-fetch-dest') === 'empty';
}

/** A page stays as it is when a request of its scripts finds that nobody is signed in: it says so itself. */
export function sendToLogin(request: Request, response: Response): void {
  if (isOfScript(request)) return void response.status(401).end();
  const back = pageOf(request.method === 'GET' ? request.originalUrl : pathBefore(request));
  // Signing in leads to the list of companies anyway.
  const next = back === null || back === '/companies' ? '' : `?next=${encodeURIComponent(back)}`;
  response.redirect(303, `/login${next}`);
}

/** The page that a path belongs to: parts that refresh themselves have paths below their page's. */
export const pageOf = (path: string | null): string | null =>
  path?.replace(/^([^?#]*?)\/part\/[^?#]*/, '$1') ?? null;

/** The page with the form or link, if the browser says which it is. */
export function pathBefore(request: Request): string | null {
  const referer = request.get('referer') ?? '';
  if (!URL.canParse(referer)) return null;
  const { host, pathname, search } = new URL(referer);
  return host === request.get('host') && !pathname.startsWith('//') ? pathname + search : null;
}

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

export function sendToLogin(request: Request, response: Response): void {
  // Signing in leads to the list of companies anyway.
  const back =
    request.method === 'GET' && request.originalUrl !== '/companies'
      ? `?next=${encodeURIComponent(request.originalUrl)}`
      : '';
  if (request.get('hx-request') === 'true')
    response.setHeader('HX-Redirect', `/login${back}`).status(204).end();
  else response.redirect(303, `/login${back}`);
}

import type { Request } from 'express';

/**
 * Whether the reader has what this tag names (RFC 9110, If-None-Match). Not `request.fresh`: fetch adds `Cache-Control: no-cache`
 * by itself, which that takes for a request of the whole answer.
 * @param etag in its quotes, strong
 */
export function isHeld(request: Request, etag: string): boolean {
  const held = (request.get('if-none-match') ?? '').split(',').map((each) => each.trim());
  return held.some((each) => each === '*' || each.replace(/^W\//, '') === etag);
}

/** Where a sign-in leads that began nowhere in particular. */
export const START_PAGE = '/companies';

/** Where somebody was on the way to; only a path of ours, so that no link to the sign-in leads elsewhere afterwards. */
export function ownPath(value: unknown): string {
  const path = typeof value === 'string' ? value : '';
  return /^\/(?![/\\])[\x21-\x7e]{0,2000}$/.test(path) && !/^\/(?:login|auth)\b/.test(path)
    ? path
    : START_PAGE;
}

/** What a browser receives on a sign-in: the session, or the path to its second step. */
import { type Entry, SESSION_DAYS, SIGN_IN_STEP_MINUTES } from '@acp/core';
import type { CookieOptions, Response } from 'express';
import { SESSION_COOKIE, SIGN_IN_COOKIE } from '../http/cookies.ts';
import { pageOf } from '../http/to-login.ts';

export const SECOND_FACTOR_PAGE = '/login/second-factor';

/** Sets the cookie and returns the path to go to. */
export function setSignInCookie(
  response: Response,
  public_url: string,
  { kind, token }: Entry,
  next: string,
): string {
  if (kind === 'second_factor') {
    response.cookie(SIGN_IN_COOKIE, token, stepCookie(public_url));
    return SECOND_FACTOR_PAGE;
  }
  response.cookie(SESSION_COOKIE, token, sessionCookie(public_url));
  return next;
}

/** HttpOnly, SameSite=Lax, Secure if the public URL is https (decisions 1). */
export function sessionCookie(public_url: string): CookieOptions {
  return {
    httpOnly: true,
    sameSite: 'lax',
    secure: public_url.startsWith('https:'),
    path: '/',
    maxAge: SESSION_DAYS * 86_400_000,
  };
}

export const stepCookie = (public_url: string): CookieOptions => ({
  ...sessionCookie(public_url),
  maxAge: SIGN_IN_STEP_MINUTES * 60_000,
});

/** Where a sign-in leads by default. */
export const START_PAGE = '/companies';

/** Where someone arrives who has just joined it. */
export const companyPage = (company_id: string): string => `/companies/${company_id}`;

/** Where the user was heading; only paths of our own, so that no link to the sign-in redirects elsewhere. */
export function ownPath(value: unknown): string {
  const path = typeof value === 'string' ? (pageOf(value) ?? '') : '';
  return /^\/(?![/\\])[\x21-\x7e]{0,2000}$/.test(path) && !/^\/(?:login|auth)\b/.test(path)
    ? path
    : START_PAGE;
}

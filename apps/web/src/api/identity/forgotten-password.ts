/** Password resets, shared by the API and the pages. Passwords are hashed outside of transactions. */
import {
  completePasswordReset,
  hashChosenPassword,
  previewPasswordReset,
  requestPasswordReset,
} from '@acp/core';
import type { Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import type { IncomingMessage } from 'node:http';
import { callerPlace } from '../../http/caller-place.ts';
import type { Services } from '../../http/services.ts';

type Means = Pick<Services, 'transaction' | 'mailing' | 'trusted_proxies'>;

/** The same answer for everyone: it does not reveal whether the account exists. */
export const RESET_REQUESTED =
  'If an account has this address, a mail is on its way to it. Its link works for half an hour.';

/** @throws conflict without mail, rateLimited after ten requests from one client address within an hour */
export async function askForReset(services: Means, request: IncomingMessage, email: string): Promise<void> {
  const place = callerPlace(request, services.trusted_proxies);
  await services.transaction((tx) => requestPasswordReset(tx, email, place, services.mailing));
}

/** @throws notFound for a spent or expired link, invalid for an easily guessed password */
export async function setForgottenPassword(
  tx: Tx,
  services: Means,
  request: IncomingMessage,
  { token, new_password }: { token: string; new_password: string },
): Promise<void> {
  // Checked first, so as not to hash a password for nothing.
  const user = await previewPasswordReset(tx, token);
  if (!user) throw notFound('this link is no longer valid; request a new one');
  const hash = await hashChosenPassword(tx, new_password, [user.display_name, user.email]);
  const place = callerPlace(request, services.trusted_proxies);
  await services.transaction((inner) => completePasswordReset(inner, token, hash, place, services.mailing));
}

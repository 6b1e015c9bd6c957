import { accountMailEndpoints as rows } from '@acp/contract';
import { cancelEmailChange, confirmEmail, readOwnEmail, resendConfirmation } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { requireUser } from '../../http/roles.ts';
import { askForReset, RESET_REQUESTED, setForgottenPassword } from './forgotten-password.ts';

export const accountMailRoutes: Route[] = [
  handle(rows.readEmail, (c) => readOwnEmail(c.tx, requireUser(c.actor).user_id, c.services.mailing)),
  handle(rows.resendConfirmation, (c) => resendConfirmation(c.tx, requireUser(c.actor), c.services.mailing)),
  handle(rows.confirmEmail, (c) =>
    confirmEmail(c.tx, requireUser(c.actor), c.body.token, c.services.mailing),
  ),
  handle(rows.cancelEmailChange, (c) => cancelEmailChange(c.tx, requireUser(c.actor))),
  handle(rows.requestPasswordReset, async (c) => {
    await askForReset(c.services, c.request, c.body.email);
    return { message: RESET_REQUESTED };
  }),
  handle(rows.completePasswordReset, async (c) => {
    await setForgottenPassword(c.tx, c.services, c.request, c.body);
    return { message: 'password set: sign in with it' };
  }),
];

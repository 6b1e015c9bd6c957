/** Account actions by mail: confirming addresses and resetting forgotten passwords. */
import { Type, type Static } from 'typebox';
import { endpoint } from './endpoint.ts';
import { Email, Password } from './identity.ts';
import { Nullable, Timestamp } from './schema-kit.ts';

export const OwnEmail = Type.Object({
  email: Type.String(),
  /** When it was verified: by its owner through a link, by an operator or by a sign-in provider. */
  verified_at: Nullable(Timestamp),
  /** Not in effect until the link sent to it is opened; `email` is used until then. */
  pending_email: Nullable(Type.String()),
  /** Expiry of a pending link. */
  link_expires_at: Nullable(Timestamp),
  /** Addresses are confirmed by mail on this instance: a mail server and an encryption key are configured. */
  by_mail: Type.Boolean(),
});
export type OwnEmail = Static<typeof OwnEmail>;

const LinkToken = Type.String({ minLength: 1, maxLength: 200, writeOnly: true });
export const ConfirmEmail = Type.Object({ token: LinkToken });
/** Also used by the forms of the pages. */
export const RequestPasswordReset = Type.Object({ email: Email });
export const CompletePasswordReset = Type.Object({ token: LinkToken, new_password: Password });
const Message = Type.Object({ message: Type.String() });

const own = { auth: ['user'], role: 'none', scope: { by: 'none' }, status: 200 } as const;
const anybody = { auth: [], role: 'none', scope: { by: 'none' }, status: 200, tx: 'none' } as const;
const NO_MAIL = '409 where no mail is set up.';

export const accountMailEndpoints = {
  readEmail: endpoint({
    ...own,
    id: 'identity.read-email',
    method: 'GET',
    path: '/api/me/email',
    response: OwnEmail,
    tx: 'none',
    doc: 'Whether the caller’s address is confirmed, and the pending new one, if any.',
  }),
  resendConfirmation: endpoint({
    ...own,
    id: 'identity.resend-confirmation',
    method: 'POST',
    path: '/api/me/email/resend',
    response: OwnEmail,
    tx: 'write',
    doc: `Sends a new link to the unconfirmed address and invalidates the previous one. Five per hour. 409 if everything is confirmed. ${NO_MAIL}`,
  }),
  confirmEmail: endpoint({
    ...own,
    id: 'identity.confirm-email',
    method: 'POST',
    path: '/api/me/email/confirm',
    body: ConfirmEmail,
    response: OwnEmail,
    tx: 'write',
    example: { token: 'what stands in the link' },
    doc: 'Confirms an address with the token from its link; a new address replaces the former one and ends the other sessions. 404 for a token that is spent, expired or another account’s.',
  }),
  cancelEmailChange: endpoint({
    ...own,
    id: 'identity.cancel-email-change',
    method: 'DELETE',
    path: '/api/me/email/pending',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Cancels the change to an unconfirmed address and invalidates its link. 404 if none is pending.',
  }),
  requestPasswordReset: endpoint({
    ...anybody,
    id: 'identity.request-password-reset',
    method: 'POST',
    path: '/api/password-resets',
    body: RequestPasswordReset,
    response: Message,
    example: { email: 'ada@example.com' },
    doc: `Sends a link for a new password to the address if an account has it; the response is the same either way. Ten per hour from one client address. ${NO_MAIL}`,
  }),
  completePasswordReset: endpoint({
    ...anybody,
    id: 'identity.complete-password-reset',
    method: 'POST',
    path: '/api/password-resets/complete',
    body: CompletePasswordReset,
    response: Message,
    example: { token: 'what stands in the link', new_password: 'seven sails at dawn' },
    doc: 'Sets the password of the account that the link was sent to, once, and ends all its sessions; the next sign-in asks for the second factor as usual. 404 for a spent or expired token.',
  }),
};

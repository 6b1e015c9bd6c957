/** A user's second factors and sessions. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { JsonObject, Name, Nullable, Timestamp, Uuid } from './schema-kit.ts';

export const Passkey = Type.Object({
  id: Uuid,
  name: Type.String(),
  backed_up: Type.Boolean(),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
});
export type Passkey = Static<typeof Passkey>;

export const SecondFactors = Type.Object({
  totp: Type.Boolean(),
  passkeys: Type.Array(Passkey),
  recovery_codes_left: Type.Integer(),
  /** Required by the instance or by one of the user's companies. */
  required: Type.Boolean(),
});
export type SecondFactors = Static<typeof SecondFactors>;

export const Session = Type.Object({
  id: Uuid,
  /** The session that made this request. */
  current: Type.Boolean(),
  method: Nullable(Type.String()),
  address: Nullable(Type.String()),
  user_agent: Nullable(Type.String()),
  created_at: Timestamp,
  last_seen_at: Timestamp,
  expires_at: Timestamp,
});
export type Session = Static<typeof Session>;

/** Six digits from the app, or a recovery code. */
export const SecondFactorCode = Type.Object({
  code: Type.String({ minLength: 6, maxLength: 40, writeOnly: true }),
});
const RecoveryCodes = Type.Object({ recovery_codes: Type.Array(Type.String()) });
const NewTotp = Type.Object({ secret: Type.String(), otpauth_url: Type.String() });
export type NewTotp = Static<typeof NewTotp>;
/** The browser's response as written by `PublicKeyCredential.toJSON()`; the library validates its content. */
export const PasskeyResponse = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 2000 }),
  rawId: Type.String({ minLength: 1, maxLength: 2000 }),
  type: Type.Literal('public-key'),
  response: Type.Record(Type.String(), Type.Unknown()),
  clientExtensionResults: Type.Optional(JsonObject),
  authenticatorAttachment: Type.Optional(Nullable(Type.String())),
});
export const AddPasskey = Type.Object({ name: Name, response: PasskeyResponse });
const AddedPasskey = Type.Object({
  passkey: Passkey,
  /** Null if the user already has some. */
  recovery_codes: Nullable(Type.Array(Type.String())),
});

const own = {
  auth: ['user'],
  role: 'none',
  scope: { by: 'none' },
  status: 200,
  while_enrolling: true,
} as const;
const write = { ...own, tx: 'write' } as const;
const FRESH = 'It needs a sign-in of the last 15 minutes, else 403.';

export const secondFactorEndpoints = {
  read: endpoint({
    ...own,
    id: 'second-factors.read',
    method: 'GET',
    path: '/api/me/second-factors',
    response: SecondFactors,
    tx: 'none',
    doc: 'The second factors of the signed-in user, and whether one is required.',
  }),
  beginTotp: endpoint({
    ...write,
    id: 'second-factors.begin-totp',
    method: 'POST',
    path: '/api/me/second-factors/totp',
    response: NewTotp,
    status: 201,
    issues_secret: 'secret',
    doc: `Creates a secret for an authenticator app, active once confirmed by a code. 409 if an app is already active. ${FRESH}`,
  }),
  confirmTotp: endpoint({
    ...write,
    id: 'second-factors.confirm-totp',
    method: 'POST',
    path: '/api/me/second-factors/totp/confirm',
    body: SecondFactorCode,
    response: RecoveryCodes,
    issues_secret: 'recovery_codes',
    example: { code: '287082' },
    doc: 'Confirms the app with its first code (403 for a wrong one) and ends the other sessions; the recovery codes are shown only once.',
  }),
  removeTotp: endpoint({
    ...write,
    id: 'second-factors.remove-totp',
    method: 'DELETE',
    path: '/api/me/second-factors/totp',
    response: null,
    status: 204,
    doc: `Removes the authenticator app; 409 if it is the last factor and one is required. ${FRESH}`,
  }),
  renewRecoveryCodes: endpoint({
    ...write,
    id: 'second-factors.renew-recovery-codes',
    method: 'POST',
    path: '/api/me/second-factors/recovery-codes',
    response: RecoveryCodes,
    status: 201,
    issues_secret: 'recovery_codes',
    doc: `Ten new recovery codes that replace the current ones. ${FRESH}`,
  }),
  passkeyOptions: endpoint({
    ...write,
    id: 'second-factors.passkey-options',
    method: 'POST',
    path: '/api/me/passkeys/options',
    response: JsonObject,
    doc: `WebAuthn creation options for a passkey. ${FRESH}`,
  }),
  addPasskey: endpoint({
    ...write,
    id: 'second-factors.add-passkey',
    method: 'POST',
    path: '/api/me/passkeys',
    body: AddPasskey,
    response: AddedPasskey,
    status: 201,
    issues_secret: 'recovery_codes',
    example: {
      name: 'Laptop',
      response: { id: 'AQID', rawId: 'AQID', type: 'public-key', response: {}, clientExtensionResults: {} },
    },
    doc: 'Adds the passkey created by the browser, and ends the other sessions.',
  }),
  removePasskey: endpoint({
    ...write,
    id: 'second-factors.remove-passkey',
    method: 'DELETE',
    path: '/api/me/passkeys/{passkeyId}',
    response: null,
    status: 204,
    doc: `Removes a passkey; 409 if it is the last factor and one is required. ${FRESH}`,
  }),
  listSessions: endpoint({
    ...own,
    id: 'sessions.list',
    method: 'GET',
    path: '/api/me/sessions',
    response: Type.Array(Session),
    tx: 'none',
    doc: 'The user’s sessions, most recently used first.',
  }),
  endSession: endpoint({
    ...write,
    id: 'sessions.end',
    method: 'DELETE',
    path: '/api/me/sessions/{sessionId}',
    response: null,
    status: 204,
    doc: 'Ends that session immediately.',
  }),
  endOtherSessions: endpoint({
    ...write,
    id: 'sessions.end-others',
    method: 'DELETE',
    path: '/api/me/sessions',
    response: null,
    status: 204,
    doc: 'Ends all of the user’s other sessions.',
  }),
  reset: endpoint({
    auth: BEARER,
    role: 'instance_admin',
    scope: { by: 'none' },
    id: 'second-factors.reset',
    method: 'POST',
    path: '/api/users/{userId}/reset-second-factor',
    response: Type.Object({ message: Type.String() }),
    status: 200,
    tx: 'write',
    doc: 'Removes a user’s app, passkeys and recovery codes and ends the sessions, for a user who has lost them. 409 for one’s own account.',
  }),
};

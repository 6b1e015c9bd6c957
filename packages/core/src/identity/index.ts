/**
 * Owns users, their second factors and sessions, their accounts at sign-in providers and their chat pairings, the records of
 * failed logins and account mails with their links, and the first-run set-up tokens.
 * Invariants: passwords are stored as argon2id, tokens as SHA-256 or sealed; a deactivated user has no session and no pairing;
 * there is always an active instance admin; a provider can only link an address that it has verified.
 * Hashing is deliberately slow: callers do it outside of transactions and pass the hash.
 */
export { loadAccess } from './access.ts';
export type { UserAccess } from './access.ts';
export {
  pairedUser,
  pairIdentity,
  revokePairings,
  setPairingNotifications,
  deleteRevokedPairings,
} from './chat-pairings.ts';
export { lockUser } from './lock-user.ts';
export { assertFreshSignIn } from './fresh-sign-in.ts';
export { isCommonPassword } from './common-passwords.ts';
export {
  assertChosenPassword,
  assertPasswordFor,
  hashChosenPassword,
  hashPassword,
  hashSentPassword,
  verifyPassword,
} from './passwords.ts';
export { clearLoginFailures, deleteOldLoginFailures, reserveLoginAttempt } from './login-attempts.ts';
export {
  aliveSessions,
  closeSession,
  deleteExpiredSessions,
  endOtherSessions,
  endOwnSession,
  listSessions,
  markSessionsSeen,
  openSession,
  resolveSession,
  SESSION_DAYS,
} from './sessions.ts';
export {
  bootstrapAdmin,
  createUser,
  enrolUser,
  findUser,
  findUserByEmail,
  listUsers,
  userNames,
} from './users.ts';
export type { NewUser } from './users.ts';
export type { UserRow } from './present.ts';
export { actorOf, presentMe, presentUser, presentUserRole } from './present.ts';
export { writeInstanceRole, closeAccount, eraseAccount, updateMe, changeUser } from './administer-users.ts';
export { changePassword, resetPassword } from './change-password.ts';
export { answerPasswordReset, requestPasswordReset, sweepPasswordResets } from './password-reset-requests.ts';
export { previewPasswordReset, resetForgottenPassword } from './forgotten-password.ts';
export {
  cancelEmailChange,
  confirmEmail,
  welcomeUser,
  pendingEmail,
  previewConfirmation,
  readOwnEmail,
  resendConfirmation,
} from './own-email.ts';
export { deleteExpiredLinks } from './account-links.ts';
export { deleteOldAccountMails } from './account-mails.ts';
export { readPreferences, updatePreferences } from './preferences.ts';
export {
  clearSecondFactor,
  completeByCode,
  completeStep,
  enterAccount,
  reserveSecondFactor,
} from './enter.ts';
export type { Entry } from './enter.ts';
export {
  askPasskey,
  findSignInStep,
  openSignInStep,
  SIGN_IN_STEP_MINUTES,
  takeStepChallenge,
} from './sign-in-steps.ts';
export type { SignInStep } from './sign-in-steps.ts';
export { beginTotp, confirmTotp, pendingTotp } from './totp.ts';
export {
  addPasskey,
  beginPasskey,
  findPasskey,
  notePasskeyUse,
  passkeysOf,
  takePasskeyChallenge,
} from './passkeys.ts';
export type { NewPasskey, StoredPasskey } from './passkeys.ts';
export {
  readSecondFactors,
  removePasskey,
  removeTotp,
  renewRecoveryCodes,
  resetSecondFactor,
} from './second-factors.ts';
export { completeSetup, hasUsers, issueSetupToken, setupTokenValid } from './setup.ts';
export { deleteExpiredOauthFlows, OAUTH_FLOW_MINUTES, openOauthFlow, takeOauthFlow } from './oauth-flows.ts';
export type { OauthFlow } from './oauth-flows.ts';
export { linkProvider, recognizeUser } from './oauth-accounts.ts';
export type { Proof } from './claimed-account.ts';
export type { ProviderIdentity } from './oauth-accounts.ts';

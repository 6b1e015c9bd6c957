/**
 * Owns users, their sessions, the memory of failed logins and the first-run set-up tokens.
 * Invariants: passwords as argon2id, tokens as SHA-256 only; a deactivated user has no session.
 * Hashing is slow on purpose: callers do it outside of transactions and hand over the hash.
 */
export { loadAccess } from './access.ts';
export type { UserAccess } from './access.ts';
export { hashPassword, verifyPassword } from './passwords.ts';
export { clearLoginFailures, deleteOldLoginFailures, reserveLoginAttempt } from './login-attempts.ts';
export {
  closeSession,
  closeUserSessions,
  deleteExpiredSessions,
  openSession,
  resolveSession,
  SESSION_DAYS,
} from './sessions.ts';
export {
  bootstrapAdmin,
  createUser,
  deactivateUser,
  findUser,
  findUserByEmail,
  listUsers,
  noteLogin,
  presentMe,
  resetPassword,
} from './users.ts';
export type { UserRow } from './users.ts';
export { completeSetup, issueSetupToken, setupTokenValid } from './setup.ts';

/**
 * Owns no table: says what happens to keys, triggers and webhooks when the person who answers for them is removed, deactivated or
 * demoted, or turns out to be someone else. Invariant: no role is taken away other than through these commands, so no credential
 * outlives the right to create it, unless someone else has taken it over (docs/adr/0051).
 */
export { completePasswordReset, findProviderUser } from './claims.ts';
export { countCredentials, listCredentials, orphanedCredentials } from './list-credentials.ts';
export {
  changeInstanceRole,
  changeMember,
  deactivateUser,
  deleteUser,
  removeMember,
  updateUser,
} from './departures.ts';

/**
 * Owns `secrets`. Invariants: a value is sealed before it reaches the database and never comes back by the API; it is
 * resolved when it is used, and whoever uses it hands it to the Scrubber.
 */
export { createSecret, deleteSecret, findSecret, listSecrets, secretPlace, updateSecret } from './secrets.ts';
export type { SecretRow } from './secrets.ts';
export { secretNames } from './references.ts';
export { resolveSecrets } from './resolve-secrets.ts';
export type { Resolved } from './resolve-secrets.ts';

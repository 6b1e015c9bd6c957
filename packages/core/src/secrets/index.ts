/**
 * Owns `secrets`. Invariants: a value is sealed before it reaches the database and is never returned by the API; it is resolved
 * when used, and the user passes it to the Scrubber.
 */
export { createSecret, deleteSecret, findSecret, listSecrets, secretPlace, updateSecret } from './secrets.ts';
export { secretNames } from './references.ts';
export { resolveSecrets } from './resolve-secrets.ts';
export type { Resolved } from './resolve-secrets.ts';
